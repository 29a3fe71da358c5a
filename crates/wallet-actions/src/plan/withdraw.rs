//! Plans a transfer of tokens to the owner.

use alloy_primitives::U256;
use exact::format_units;
use serde_json::json;

use super::{Draft, Planner, amount_of, transfer};
use crate::intent::{Expected, Operation};
use crate::refused::FundsRequired;
use crate::{Order, Refused, WithdrawOrder};

impl Planner<'_> {
    /// Plans a transfer to the owner. No other recipient is possible.
    pub(super) async fn withdraw(
        &self,
        order: &Order,
        asked: &WithdrawOrder,
    ) -> Result<Draft, Refused> {
        let &WithdrawOrder {
            chain_id,
            token,
            ref amount,
        } = asked;
        self.require_owner_on(order, chain_id).await?;
        let held = self.held(chain_id, token).await?;
        let amount = match amount {
            Some(text) => amount_of("amount", text, held.decimals)?,
            None => held.balance,
        };
        if held.balance.is_zero() {
            return Err(Refused::nothing(
                "nothing_to_withdraw",
                format!("the sub-wallet holds no {token} on chain {chain_id}"),
            ));
        }
        if amount > held.balance {
            return Err(Refused::Funds(Box::new(FundsRequired {
                chain_id,
                wallet: self.wallet.address,
                token,
                missing: amount.saturating_sub(held.balance),
                decimals: held.decimals,
                principal_auth: None,
            })));
        }
        let owner = self.wallet.owner.address();
        let mut step = transfer(chain_id, token, owner, amount);
        step.expects = Some(Expected {
            token,
            receiver: owner,
            at_least: amount,
        });
        Ok(Draft {
            operation: Operation::Withdraw,
            chain_id,
            steps: vec![step],
            allowance: None,
            bridge: None,
            not_after: None,
            plan: json!({
                "chain_id": chain_id,
                "token": token.to_string(),
                "decimals": held.decimals,
                "recipient": owner.to_string(),
                "amount": format_units(amount, held.decimals),
                "leaves": format_units(held.balance.checked_sub(amount).unwrap_or(U256::ZERO), held.decimals),
            }),
        })
    }
}
