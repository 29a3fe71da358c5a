//! Plans a deposit into a reviewed product.

use exact::format_units;
use serde_json::{Value, json};

use super::deposit::Deposit;
use super::{Draft, Planner, Product};
use crate::intent::{Allowance, Operation};
use crate::{DepositAsk, InvestOrder, Order, Refused};

impl Planner<'_> {
    /// Plans the missing principal, the exact approval and the deposit.
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
        let account = self.account(chain_id)?;
        let product = self
            .product(chain_id, protocol, asset, product_id.as_deref())
            .await?;
        let held = account.held(product.asset).await?;
        let deposit = account
            .deposit_in(&product, held, amount, min_shares.as_deref())
            .await?;
        let wanted = deposit.amount;
        let judged = self
            .judge_worth(order, &product, held.decimals, &deposit)
            .await?;
        let principal = self
            .bring(order, chain_id, product.asset, held, wanted)
            .await?;
        let at_least = deposit.call.expects.map(|expected| expected.at_least);
        let mut steps: Vec<_> = principal.into_iter().collect();
        steps.extend(deposit.approvals);
        steps.push(deposit.call);
        let shares = account.held(deposit.shares).await?;
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
                "amount": format_units(wanted, held.decimals),
                "shares": deposit.shares.to_string(),
                "shares_before_atoms": shares.balance.to_string(),
                "decimals": shares.decimals,
                "min_shares_atoms": at_least.map(|at_least| at_least.to_string()),
                "judged": judged,
            }),
        })
    }

    /// Checks a deposit, except whether the wallet holds the asset and the coins for gas.
    pub(crate) async fn judge_invest(
        &self,
        order: &Order,
        asked: &InvestOrder,
    ) -> Result<(), Refused> {
        let (chain_id, id) = (asked.chain_id, asked.product_id.as_deref());
        let product = self.product(chain_id, &asked.protocol, &asked.asset, id);
        let product = product.await?;
        let held = self.held(chain_id, product.asset).await?;
        let least = asked.min_shares.as_deref();
        let account = self.account(chain_id)?;
        let deposit = account
            .deposit_in(&product, held, &asked.amount, least)
            .await?;
        self.judge_worth(order, &product, held.decimals, &deposit)
            .await?;
        let mut draft = Draft {
            operation: Operation::Invest,
            chain_id,
            steps: vec![deposit.call],
            allowance: None,
            bridge: None,
            not_after: None,
            plan: json!({}),
        };
        self.limit_slippage(order, &mut draft).await?;
        self.judge(&draft)
    }

    /// Judges what the shares of a deposit are worth. Returns the evidence.
    async fn judge_worth(
        &self,
        order: &Order,
        product: &Product,
        decimals: u8,
        deposit: &Deposit,
    ) -> Result<Value, Refused> {
        let ask = DepositAsk {
            chain_id: product.chain_id,
            asset: product.asset,
            decimals,
            amount: deposit.amount,
            worth: deposit.worth,
            max_price_impact_bps: order.max_price_impact_bps,
        };
        Ok(self.shared.plans.judge_deposit(ask).await?)
    }
}
