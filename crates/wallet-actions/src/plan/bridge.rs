//! Plans a bridge of native USDC to another chain: the burn on the source chain, and the checks of
//! the mint that follows.

use exact::format_units;
use serde_json::json;

use super::{Draft, Planner, amount_of, planned};
use crate::intent::{Allowance, Bridge, Operation};
use crate::{BridgeAsk, BridgeOrder, Order, Refused};

impl Planner<'_> {
    /// Plans the burn on the source chain. The mint is planned after the attestation.
    pub(super) async fn bridge(
        &self,
        order: &Order,
        asked: &BridgeOrder,
    ) -> Result<Draft, Refused> {
        let &BridgeOrder {
            from_chain,
            to_chain,
            token,
            ref amount,
            recipient,
        } = asked;
        let (owner, wallet) = (self.wallet.owner.address(), self.wallet.address);
        let forward_to = match recipient {
            None => None,
            Some(recipient) if recipient == wallet => None,
            Some(recipient) if recipient == owner => Some(owner),
            Some(recipient) => {
                return Err(Refused::invalid(
                    "recipient",
                    format!(
                        "expected the sub-wallet {wallet} or the payer {owner}, observed {recipient}"
                    ),
                ));
            }
        };
        // The wallet sends the mint on the destination chain, so that chain must be configured too.
        self.shared.chain(to_chain)?;
        if forward_to.is_some() {
            self.require_owner_on(order, to_chain).await?;
        }
        let held = self.held(from_chain, token).await?;
        let wanted = amount_of("amount", amount, held.decimals)?;
        let principal = self.bring(order, from_chain, token, held, wanted).await?;
        let ask = BridgeAsk {
            from_chain,
            to_chain,
            wallet,
            recipient: wallet,
            token,
            atoms: wanted,
        };
        let planned_bridge = self.shared.plans.bridge(ask).await?;
        let mut steps: Vec<_> = principal.into_iter().collect();
        let burn = planned_bridge.steps.into_iter();
        steps.extend(burn.map(|step| planned(from_chain, step)));
        let bridge = Bridge {
            chain_id: to_chain,
            source_domain: planned_bridge.source_domain,
            destination_domain: planned_bridge.destination_domain,
            burned_token: token,
            minted_token: planned_bridge.minted_token,
            transmitter: planned_bridge.transmitter,
            amount: wanted,
            max_fee: planned_bridge.max_fee,
            forward_to,
            minted_by_others: false,
        };
        self.judge_arrival(&bridge)?;
        Ok(Draft {
            operation: Operation::Bridge,
            chain_id: from_chain,
            steps,
            allowance: Some(Allowance {
                chain_id: from_chain,
                token,
                spender: planned_bridge.spender,
                left: None,
                clears: 0,
            }),
            bridge: Some(bridge),
            not_after: Some(planned_bridge.valid_until),
            plan: json!({
                "from_chain": from_chain,
                "to_chain": to_chain,
                "token": token.to_string(),
                "minted_token": bridge.minted_token.to_string(),
                "decimals": held.decimals,
                "recipient": forward_to.unwrap_or(wallet).to_string(),
                "amount": format_units(wanted, held.decimals),
                "max_fee": format_units(planned_bridge.max_fee, held.decimals),
                "judged": planned_bridge.evidence,
            }),
        })
    }

    /// Checks that the policy allows the transactions on the destination chain. Otherwise USDC
    /// would be burned for a mint that the key may not sign.
    fn judge_arrival(&self, bridge: &Bridge) -> Result<(), Refused> {
        let mint = crate::drive::mint_step(bridge, Default::default(), Default::default());
        self.judge_call(bridge.chain_id, bridge.transmitter, &mint.input)?;
        if let Some(owner) = bridge.forward_to {
            let out = super::transfer(bridge.chain_id, bridge.minted_token, owner, bridge.amount);
            self.judge_call(bridge.chain_id, bridge.minted_token, &out.input)?;
        }
        Ok(())
    }
}
