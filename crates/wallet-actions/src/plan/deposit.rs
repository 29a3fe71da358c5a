//! Plans a deposit into a product from any account: its transactions, and the shares that it must
//! give. Sub-wallets and callers with their own keys get the same transactions.
//!
//! Each function refuses a deposit that the product does not accept now. None of them checks that
//! the account holds the amount.

use alloy_primitives::{Address, U256};
use exact::format_units;

use super::account::Account;
use super::product::Protocol;
use super::{Held, Product, amount_of, approve, step};
use crate::abi::{pool, vault};
use crate::amount::less_bps;
use crate::intent::{Expected, Step};
use crate::{Refused, StepKind};

/// How far a vault's shares may fall below its preview, in basis points. Other deposits may be
/// executed first, and ERC-4626 has no slippage limit of its own.
const PREVIEW_TOLERANCE_BPS: u64 = 10;

/// How far the worth of the shares may fall below the deposit, in basis points. It allows for the
/// vault's fees. A vault that a donation inflated while it was empty takes more.
const MOST_LOSS_BPS: u64 = 100;

/// A deposit that the product accepts now.
pub(crate) struct Deposit {
    /// The amount of the asset, in its smallest unit.
    pub(crate) amount: U256,
    /// The share token.
    pub(crate) shares: Address,
    /// The worth of the shares in the asset, by the product's own conversion.
    pub(crate) worth: U256,
    /// The approval of exactly the amount. A reset comes first when an allowance exists already.
    pub(crate) approvals: Vec<Step>,
    /// The transaction that deposits.
    pub(crate) call: Step,
}

impl Account<'_> {
    /// Plans a deposit of `amount` whole tokens of the asset. `held` is the account's balance of
    /// the asset.
    ///
    /// # Errors
    /// [`Refused`]: the amount is not a valid amount of the asset, the product does not accept it
    /// now, or the chain cannot be read.
    pub(crate) async fn deposit_in(
        &self,
        product: &Product,
        held: Held,
        amount: &str,
        min_shares: Option<&str>,
    ) -> Result<Deposit, Refused> {
        let amount = amount_of("amount", amount, held.decimals)?;
        let (shares, worth, call) = match product.protocol {
            Protocol::AaveV3 => self.supply(product, held, amount, min_shares).await?,
            Protocol::Erc4626 => self.deposit(product, amount, min_shares).await?,
        };
        let (asset, spender) = (product.asset, product.contract);
        Ok(Deposit {
            amount,
            shares,
            worth,
            approvals: self.approvals(asset, spender, amount).await?,
            call,
        })
    }

    /// Makes the approval of exactly the amount. A reset comes first when an allowance exists
    /// already.
    async fn approvals(
        &self,
        token: Address,
        spender: Address,
        amount: U256,
    ) -> Result<Vec<Step>, Refused> {
        let chain_id = self.chain_id();
        let allowed = self.allowed(token, spender).await?;
        let reset = approve(StepKind::ApproveReset, chain_id, token, spender, U256::ZERO);
        let exact = approve(StepKind::Approve, chain_id, token, spender, amount);
        Ok(match allowed.is_zero() {
            true => vec![exact],
            false => vec![reset, exact],
        })
    }

    /// Plans the deposit into an Aave v3 reserve. The reserve must be active, neither frozen nor
    /// paused, and below its cap.
    async fn supply(
        &self,
        product: &Product,
        held: Held,
        amount: U256,
        min_shares: Option<&str>,
    ) -> Result<(Address, U256, Step), Refused> {
        let reserve = self.reserve(product).await?;
        let refuse = |reason, what: &str| {
            let message = format!("the reserve of {} is {what}", product.asset);
            Err(Refused::unsupported(reason, message))
        };
        if !reserve.is_active {
            return refuse("product_inactive", "not active");
        }
        if reserve.is_paused {
            return refuse("product_paused", "paused");
        }
        if reserve.is_frozen {
            return refuse("product_frozen", "frozen");
        }
        if reserve.supply_cap > 0 {
            let supplied = self.read(reserve.shares, &pool::totalSupplyCall {});
            let supplied = supplied.await?.unwrap_or(U256::MAX);
            let unit = U256::from(10).saturating_pow(U256::from(held.decimals));
            let cap = U256::from(reserve.supply_cap).saturating_mul(unit);
            if supplied.saturating_add(amount) > cap {
                let left = format_units(cap.saturating_sub(supplied), held.decimals);
                return refuse("product_at_cap", &format!("at its cap: {left} are left"));
            }
        }
        // A share is a unit of the asset. A market may round down by one unit.
        let floor = amount.saturating_sub(U256::from(1));
        let at_least = match min_shares {
            Some(text) => amount_of("min_shares", text, held.decimals)?,
            None => floor,
        };
        if at_least > amount {
            return Err(below_minimum(at_least, amount));
        }
        let call = pool::supplyCall {
            asset: product.asset,
            amount,
            onBehalfOf: self.address,
            referralCode: 0,
        };
        let mut supply = step(StepKind::Call, product.chain_id, product.contract, &call);
        supply.expects = Some(Expected {
            token: reserve.shares,
            receiver: self.address,
            at_least: at_least.min(floor),
        });
        Ok((reserve.shares, amount, supply))
    }

    /// Plans the deposit into a vault. It must give the previewed shares less a tolerance.
    async fn deposit(
        &self,
        product: &Product,
        amount: U256,
        min_shares: Option<&str>,
    ) -> Result<(Address, U256, Step), Refused> {
        let (chain_id, contract) = (product.chain_id, product.contract);
        let wallet = self.address;
        let unreadable = || {
            let message = format!("the vault {contract} does not behave as an ERC-4626 vault");
            Refused::unsupported("product_unreadable", message)
        };
        let asset = self.read(contract, &vault::assetCall {}).await?;
        if asset != Some(product.asset) {
            return Err(unreadable());
        }
        let most = vault::maxDepositCall { receiver: wallet };
        let most = self.read(contract, &most).await?.ok_or_else(unreadable)?;
        if most < amount {
            let (reason, what) = match most.is_zero() {
                true => ("product_paused", "takes no deposits now".to_owned()),
                false => (
                    "product_at_cap",
                    format!("takes at most {most} of the smallest unit"),
                ),
            };
            let message = format!("the vault {contract} {what}");
            return Err(Refused::unsupported(reason, message));
        }
        let preview = vault::previewDepositCall { assets: amount };
        let preview = self
            .read(contract, &preview)
            .await?
            .ok_or_else(unreadable)?;
        if preview.is_zero() {
            let message = format!("the vault {contract} gives no shares for this amount");
            return Err(Refused::unsupported("preview_zero_shares", message));
        }
        let value = vault::convertToAssetsCall { shares: preview };
        let value = self.read(contract, &value).await?.ok_or_else(unreadable)?;
        if value < less_bps(amount, MOST_LOSS_BPS) {
            let message = format!(
                "the vault {contract} gives shares worth {value} of the smallest unit for {amount}"
            );
            return Err(Refused::unsupported("preview_below_value", message));
        }
        let floor = less_bps(preview, PREVIEW_TOLERANCE_BPS).max(U256::from(1));
        let at_least = match min_shares {
            Some(text) => {
                let decimals = self.read(contract, &vault::decimalsCall {}).await?;
                amount_of("min_shares", text, decimals.ok_or_else(unreadable)?)?.max(floor)
            }
            None => floor,
        };
        if preview < at_least {
            return Err(below_minimum(at_least, preview));
        }
        let call = vault::depositCall {
            assets: amount,
            receiver: wallet,
        };
        let mut deposit = step(StepKind::Call, chain_id, contract, &call);
        deposit.returns_amount = true;
        deposit.expects = Some(Expected {
            token: contract,
            receiver: wallet,
            at_least,
        });
        Ok((contract, value, deposit))
    }
}

fn below_minimum(expected: U256, observed: U256) -> Refused {
    Refused::unsupported(
        "preview_below_minimum",
        format!("expected at least {expected} shares of the smallest unit, observed {observed}"),
    )
}
