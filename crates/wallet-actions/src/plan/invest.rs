//! A deposit into a reviewed product.

use alloy_primitives::{Address, U256};
use serde_json::json;

use super::product::Protocol;
use super::{Draft, Held, Planner, Product, amount_of, approve, step};
use crate::abi::{pool, vault};
use crate::amount::{less_bps, whole};
use crate::intent::{Allowance, Expected, Operation, Step};
use crate::{InvestOrder, Order, Refused, StepKind};

/// How far what a vault gives may fall below its preview: other deposits come between. ERC-4626 has no guard of its own.
const PREVIEW_TOLERANCE_BPS: u64 = 10;

/// How far the shares may be worth less than the deposit: fees of the vault. A vault whose empty pool was inflated by a gift
/// takes more.
const MOST_LOSS_BPS: u64 = 100;

impl Planner<'_> {
    /// An exact approval and the deposit.
    pub(super) async fn invest(
        &self,
        order: &Order,
        asked: &InvestOrder,
    ) -> Result<Draft, Refused> {
        let InvestOrder {
            chain_id,
            protocol,
            asset,
            amount,
            product_id,
            min_shares,
        } = asked;
        let chain_id = *chain_id;
        self.shared.chain(chain_id)?;
        let product = self
            .product(chain_id, protocol, asset, product_id.as_deref())
            .await?;
        let held = self.held(chain_id, product.asset).await?;
        let wanted = amount_of("amount", amount, held.decimals)?;
        let (shares, deposit) = match product.protocol {
            Protocol::AaveV3 => {
                self.supply(&product, held, wanted, min_shares.as_deref())
                    .await?
            }
            Protocol::Erc4626 => {
                self.deposit(&product, wanted, min_shares.as_deref())
                    .await?
            }
        };
        let principal = self
            .bring(order, chain_id, product.asset, held, wanted)
            .await?;
        let mut steps: Vec<_> = principal.into_iter().collect();
        let approvals = self.approvals(chain_id, product.asset, product.contract, wanted);
        steps.extend(approvals.await?);
        let at_least = deposit.expects.map(|expected| expected.at_least);
        steps.push(deposit);
        Ok(Draft {
            operation: Operation::Invest,
            chain_id,
            steps,
            allowance: Some(Allowance {
                chain_id,
                token: product.asset,
                spender: product.contract,
                left: None,
                clears: 0,
            }),
            bridge: None,
            not_after: None,
            plan: json!({
                "chain_id": chain_id,
                "protocol": product.protocol.as_str(),
                "product_id": product.id,
                "contract": product.contract.to_string(),
                "asset": product.asset.to_string(),
                "amount": whole(wanted, held.decimals),
                "shares": shares.to_string(),
                "decimals": self.held(chain_id, shares).await?.decimals,
                "min_shares_atoms": at_least.map(|at_least| at_least.to_string()),
            }),
        })
    }

    /// Judges a deposit by everything but what the wallet holds of the asset and of coins.
    pub(crate) async fn judge_invest(
        &self,
        order: &Order,
        asked: &InvestOrder,
    ) -> Result<(), Refused> {
        let chain_id = asked.chain_id;
        self.shared.chain(chain_id)?;
        let product = self
            .product(
                chain_id,
                &asked.protocol,
                &asked.asset,
                asked.product_id.as_deref(),
            )
            .await?;
        let held = self.held(chain_id, product.asset).await?;
        let wanted = amount_of("amount", &asked.amount, held.decimals)?;
        let least = asked.min_shares.as_deref();
        let (_, deposit) = match product.protocol {
            Protocol::AaveV3 => self.supply(&product, held, wanted, least).await?,
            Protocol::Erc4626 => self.deposit(&product, wanted, least).await?,
        };
        let mut draft = Draft {
            operation: Operation::Invest,
            chain_id,
            steps: vec![deposit],
            allowance: None,
            bridge: None,
            not_after: None,
            plan: json!({}),
        };
        self.limit_slippage(order, &mut draft).await?;
        self.judge(&draft)
    }

    /// An exact approval, behind a reset where something is allowed already.
    async fn approvals(
        &self,
        chain_id: u64,
        token: Address,
        spender: Address,
        amount: U256,
    ) -> Result<Vec<Step>, Refused> {
        let chain = self.shared.chain(chain_id)?;
        let block = chain.sealed(0).await?.block;
        let allowed = chain
            .allowance(token, self.wallet.address, spender, block)
            .await?;
        let reset = approve(StepKind::ApproveReset, chain_id, token, spender, U256::ZERO);
        let exact = approve(StepKind::Approve, chain_id, token, spender, amount);
        Ok(match allowed.is_zero() {
            true => vec![exact],
            false => vec![reset, exact],
        })
    }

    /// The deposit into a reserve that takes it: active, neither frozen nor paused, below its cap.
    async fn supply(
        &self,
        product: &Product,
        held: Held,
        amount: U256,
        min_shares: Option<&str>,
    ) -> Result<(Address, Step), Refused> {
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
            let supplied = self.read(product.chain_id, reserve.shares, &pool::totalSupplyCall {});
            let supplied = supplied.await?.unwrap_or(U256::MAX);
            let unit = U256::from(10).saturating_pow(U256::from(held.decimals));
            let cap = U256::from(reserve.supply_cap).saturating_mul(unit);
            if supplied.saturating_add(amount) > cap {
                let left = whole(cap.saturating_sub(supplied), held.decimals);
                return refuse("product_at_cap", &format!("at its cap: {left} are left"));
            }
        }
        // One share is one unit of the asset; a market rounds by one.
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
            onBehalfOf: self.wallet.address,
            referralCode: 0,
        };
        let mut supply = step(StepKind::Call, product.chain_id, product.contract, &call);
        supply.expects = Some(Expected {
            token: reserve.shares,
            receiver: self.wallet.address,
            at_least: at_least.min(floor),
        });
        Ok((reserve.shares, supply))
    }

    /// The deposit into a vault, with what it previews less a tolerance as the floor.
    async fn deposit(
        &self,
        product: &Product,
        amount: U256,
        min_shares: Option<&str>,
    ) -> Result<(Address, Step), Refused> {
        let (chain_id, contract) = (product.chain_id, product.contract);
        let wallet = self.wallet.address;
        let unreadable = || {
            let message = format!("the vault {contract} does not answer as ERC-4626 says");
            Refused::unsupported("product_unreadable", message)
        };
        let asset = self.read(chain_id, contract, &vault::assetCall {}).await?;
        if asset != Some(product.asset) {
            return Err(unreadable());
        }
        let most = vault::maxDepositCall { receiver: wallet };
        let most = self
            .read(chain_id, contract, &most)
            .await?
            .ok_or_else(unreadable)?;
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
            .read(chain_id, contract, &preview)
            .await?
            .ok_or_else(unreadable)?;
        if preview.is_zero() {
            let message = format!("the vault {contract} gives no shares for this amount");
            return Err(Refused::unsupported("preview_zero_shares", message));
        }
        let value = vault::convertToAssetsCall { shares: preview };
        let value = self
            .read(chain_id, contract, &value)
            .await?
            .ok_or_else(unreadable)?;
        if value < less_bps(amount, MOST_LOSS_BPS) {
            let message = format!(
                "the vault {contract} gives shares worth {value} of the smallest unit for {amount}"
            );
            return Err(Refused::unsupported("preview_below_value", message));
        }
        let floor = less_bps(preview, PREVIEW_TOLERANCE_BPS).max(U256::from(1));
        let at_least = match min_shares {
            Some(text) => {
                let decimals = self
                    .read(chain_id, contract, &vault::decimalsCall {})
                    .await?;
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
        Ok((contract, deposit))
    }
}

fn below_minimum(expected: U256, observed: U256) -> Refused {
    Refused::unsupported(
        "preview_below_minimum",
        format!("expected at least {expected} shares of the smallest unit, observed {observed}"),
    )
}
