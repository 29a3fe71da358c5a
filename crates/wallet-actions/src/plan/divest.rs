//! Plans the withdrawal of a whole deposit, or of a part of it, to the wallet.
//!
//! The plan limits how far the payout may fall below the preview. The module `slippage` adds the
//! limit of the order.

use alloy_primitives::{Address, U256};
use exact::format_units;
use serde_json::json;

use super::product::Protocol;
use super::{Draft, Planner, Product, amount_of, step};
use crate::abi::{pool, vault};
use crate::amount::{atoms, less_bps};
use crate::intent::{Expected, Operation, Step};
use crate::{DivestOrder, Refused, Size, StepKind};

/// How far a vault's payout may fall below its preview, in basis points.
const PREVIEW_TOLERANCE_BPS: u64 = 10;

/// The most decimal digits of a ratio.
const RATIO_DIGITS: u8 = 6;
const RATIO_ONE: u64 = 1_000_000;

impl Planner<'_> {
    /// Plans the withdrawal of an amount, or of a fraction of the position. Withdrawing the whole
    /// position leaves no shares.
    pub(super) async fn divest(&self, asked: &DivestOrder) -> Result<Draft, Refused> {
        let product = self.product_of(&asked.product).await?;
        let (shares, balance) = self.shares(&product).await?;
        if balance.is_zero() {
            let message = format!("the sub-wallet has no position in {}", product.id);
            return Err(Refused::nothing("no_such_position", message));
        }
        let decimals = self.held(product.chain_id, product.asset).await?.decimals;
        let part = Part::of(&asked.size, decimals)?;
        let (call, at_least) = match product.protocol {
            Protocol::AaveV3 => self.out_of_reserve(&product, balance, part)?,
            Protocol::Erc4626 => self.out_of_vault(&product, balance, part).await?,
        };
        let mut call = call;
        call.expects = Some(Expected {
            token: product.asset,
            receiver: self.wallet.address,
            at_least,
        });
        Ok(Draft {
            operation: Operation::Divest,
            chain_id: product.chain_id,
            steps: vec![call],
            allowance: None,
            bridge: None,
            not_after: None,
            plan: json!({
                "chain_id": product.chain_id,
                "protocol": product.protocol.as_str(),
                "product_id": product.id,
                "contract": product.contract.to_string(),
                "asset": product.asset.to_string(),
                "decimals": decimals,
                "shares": shares.to_string(),
                "shares_before_atoms": balance.to_string(),
                "takes_all": part == Part::All,
                "min_out": format_units(at_least, decimals),
            }),
        })
    }

    /// Plans a withdrawal from an Aave v3 pool, where each share is a unit of the asset. An amount
    /// of `U256::MAX` withdraws everything, with the interest up to that block.
    fn out_of_reserve(
        &self,
        product: &Product,
        balance: U256,
        part: Part,
    ) -> Result<(Step, U256), Refused> {
        let (amount, at_least) = match part {
            Part::All => (U256::MAX, balance.saturating_sub(U256::from(1))),
            Part::Ratio(millionths) => {
                let amount = share_of(balance, millionths);
                (amount, amount)
            }
            Part::Amount(amount) => (amount, amount),
        };
        judge_amount(amount, at_least, balance)?;
        let call = pool::withdrawCall {
            asset: product.asset,
            amount,
            to: self.wallet.address,
        };
        let step = step(StepKind::Call, product.chain_id, product.contract, &call);
        Ok((step, at_least))
    }

    /// Plans a withdrawal from a vault. A fraction is withdrawn by shares, and an amount by assets.
    async fn out_of_vault(
        &self,
        product: &Product,
        balance: U256,
        part: Part,
    ) -> Result<(Step, U256), Refused> {
        let wallet = self.wallet.address;
        let shares = match part {
            Part::Amount(amount) => return self.assets_of_vault(product, amount).await,
            Part::All => balance,
            Part::Ratio(millionths) => share_of(balance, millionths),
        };
        if shares.is_zero() {
            return Err(Refused::invalid(
                "ratio",
                "this part of the position is zero",
            ));
        }
        let most = vault::maxRedeemCall { owner: wallet };
        let most = self.of_vault(product, &most).await?;
        judge_limit(product.contract, shares, most)?;
        let preview = self
            .of_vault(product, &vault::previewRedeemCall { shares })
            .await?;
        if preview.is_zero() {
            let message = format!(
                "the vault {} pays nothing for these shares",
                product.contract
            );
            return Err(Refused::unsupported("preview_zero_assets", message));
        }
        let call = vault::redeemCall {
            shares,
            receiver: wallet,
            owner: wallet,
        };
        let mut redeem = step(StepKind::Call, product.chain_id, product.contract, &call);
        redeem.returns_amount = true;
        Ok((redeem, less_bps(preview, PREVIEW_TOLERANCE_BPS)))
    }

    async fn assets_of_vault(
        &self,
        product: &Product,
        amount: U256,
    ) -> Result<(Step, U256), Refused> {
        let wallet = self.wallet.address;
        let most = vault::maxWithdrawCall { owner: wallet };
        let most = self.of_vault(product, &most).await?;
        judge_limit(product.contract, amount, most)?;
        let call = vault::withdrawCall {
            assets: amount,
            receiver: wallet,
            owner: wallet,
        };
        let step = step(StepKind::Call, product.chain_id, product.contract, &call);
        Ok((step, amount))
    }

    async fn of_vault<C>(&self, product: &Product, call: &C) -> Result<U256, Refused>
    where
        C: alloy_sol_types::SolCall<Return = U256>,
    {
        let read = self.read(product.chain_id, product.contract, call).await?;
        read.ok_or_else(|| {
            let message = format!(
                "the vault {} does not behave as an ERC-4626 vault",
                product.contract
            );
            Refused::unsupported("product_unreadable", message)
        })
    }
}

/// A part of a position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    All,
    /// A fraction, in millionths.
    Ratio(u64),
    /// An amount, in the asset's smallest unit.
    Amount(U256),
}

impl Part {
    fn of(size: &Size, decimals: u8) -> Result<Self, Refused> {
        match size {
            Size::Amount(text) => Ok(Self::Amount(amount_of("amount", text, decimals)?)),
            Size::Ratio(text) => {
                let millionths =
                    atoms(text, RATIO_DIGITS).and_then(|ratio| u64::try_from(ratio).ok());
                match millionths {
                    Some(RATIO_ONE) => Ok(Self::All),
                    Some(millionths @ 1..RATIO_ONE) => Ok(Self::Ratio(millionths)),
                    _ => Err(Refused::invalid(
                        "ratio",
                        "expected a share above 0 and at most 1, with at most six digits",
                    )),
                }
            }
        }
    }
}

fn share_of(balance: U256, millionths: u64) -> U256 {
    let one = U256::from(RATIO_ONE);
    match balance.checked_mul(U256::from(millionths)) {
        Some(product) => product / one,
        None => (balance / one).saturating_mul(U256::from(millionths)),
    }
}

fn judge_amount(amount: U256, at_least: U256, balance: U256) -> Result<(), Refused> {
    if amount.is_zero() {
        return Err(Refused::invalid(
            "ratio",
            "this part of the position is zero",
        ));
    }
    match at_least > balance {
        true => Err(above_position(at_least, balance)),
        false => Ok(()),
    }
}

fn judge_limit(contract: Address, wanted: U256, most: U256) -> Result<(), Refused> {
    if wanted <= most {
        return Ok(());
    }
    if most.is_zero() {
        let message = format!("the vault {contract} pays out nothing now");
        return Err(Refused::unsupported("product_paused", message));
    }
    Err(above_position(wanted, most))
}

fn above_position(wanted: U256, most: U256) -> Refused {
    Refused::unsupported(
        "above_position",
        format!("expected at most {most} of the smallest unit, observed {wanted}"),
    )
}
