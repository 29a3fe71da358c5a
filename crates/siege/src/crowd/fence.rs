//! Attacks on the fence: revocations of strangers, and a stolen delegate's key.

use std::sync::Arc;

use alloy_primitives::{B256, U256, hex};
use api_server::{EmbeddedPlan, EmbeddedPlans};
use delegation_fence::{Order, Revocation};
use dev_chain::base;

use crate::SiegeError;
use crate::bank::{PAYEE, THIEF};
use crate::buyer::brief;
use crate::client::{CLIENT_ADDRESS, Request};
use crate::field::Attacker;
use crate::owner::{self, CAP, Owner, address, project, signed};
use crate::payment::{Wallet, now};

type Acted = Result<Attacker, SiegeError>;

/// Revokes a grant that nobody has made, of an account that nobody knows.
pub(super) async fn tombstones(mut attacker: Attacker) -> Acted {
    let stranger = Wallet::draw(&mut attacker.chance)?;
    let grant_id = B256::from(attacker.chance.bytes());
    let revocation = Revocation {
        account: stranger.address(),
        chain_id: base::CHAIN_ID,
        grant_id,
        project_id: project()?,
        revoked_at: now(),
    };
    let body = signed(revocation, &stranger)?.to_json();
    // Each comes from an address of its own, so that no share of an address stops it.
    let [one, two] = attacker.chance.bytes();
    let request = Request::post("/delegation/revocations", body)
        .with(CLIENT_ADDRESS, address(format!("10.67.{one}.{two}")));
    attacker.client.go_on();
    let outcome = match attacker.client.send(&request).await {
        Ok(answer) if answer.status.is_success() => {
            let path = format!("/delegation/grants/{}/{grant_id}", stranger.address());
            attacker.field.record.seen().revoked.insert(path);
            "acknowledged".to_owned()
        }
        Ok(answer) => brief(&answer),
        Err(_) => "no answer".to_owned(),
    };
    attacker.field.record.crowd(attacker.name, outcome);
    Ok(attacker)
}

/// Orders with the key of an owner's delegate: plans for the thief's own benefit, orders that do
/// not fit their plan, plans beyond the grant, and one that the delegate could order too.
pub(super) async fn stolen_key(mut attacker: Attacker, owners: Arc<[Owner]>) -> Acted {
    let field = attacker.field.clone();
    let (Some(owner), Some(other)) = (attacker.chance.pick(&owners), attacker.chance.pick(&owners))
    else {
        return Ok(attacker);
    };
    let honest = EmbeddedPlans::new(PAYEE)?;
    let mut amount = attacker.chance.below(10_000_000).saturating_add(10_000_000);
    let (plan, order) = match attacker.chance.below(8) {
        // Its own plan builder, which pays the fee to the thief.
        0 => {
            let plan = EmbeddedPlans::new(THIEF)?
                .plan(owner.wallet, amount)
                .await?;
            ordered(plan, owner)?
        }
        // More than the grant permits.
        1 => {
            amount = amount.saturating_add(CAP);
            ordered(honest.plan(owner.wallet, amount).await?, owner)?
        }
        // The output goes to the thief.
        2 => {
            let plan = honest.plan(owner.wallet, amount).await?;
            ordered(to_the_thief(&plan, owner), owner)?
        }
        // The account of another owner, under this owner's grant and delegate.
        3 => ordered(honest.plan(other.wallet, amount).await?, owner)?,
        4 => {
            let plan = honest.plan(owner.wallet, amount).await?;
            let order = Order {
                account: other.wallet,
                ..plan.order(owner.wallet, other.grant_id)?
            };
            (plan, order)
        }
        // An order for less, and one for another token.
        5 => {
            let plan = honest.plan(owner.wallet, amount).await?;
            let order = Order {
                min_amount_out: U256::ONE,
                ..plan.order(owner.wallet, owner.grant_id)?
            };
            (plan, order)
        }
        6 => {
            let plan = honest.plan(owner.wallet, amount).await?;
            let order = Order {
                output_token: THIEF,
                ..plan.order(owner.wallet, owner.grant_id)?
            };
            (plan, order)
        }
        _ => ordered(honest.plan(owner.wallet, amount).await?, owner)?,
    };
    owner
        .submit(&field, owner::THIEF, amount, &plan, order)
        .await?;
    Ok(attacker)
}

fn ordered(plan: EmbeddedPlan, owner: &Owner) -> Result<(EmbeddedPlan, Order), SiegeError> {
    let order = plan.order(owner.wallet, owner.grant_id)?;
    Ok((plan, order))
}

/// Puts the thief in the place of the account wherever the plan names it without a prefix: in the
/// calldata.
fn to_the_thief(plan: &EmbeddedPlan, owner: &Owner) -> EmbeddedPlan {
    let padded = |account| format!("{:0>64}", hex::encode(account));
    let envelope = plan.envelope.replace(&padded(owner.wallet), &padded(THIEF));
    debug_assert_ne!(envelope, plan.envelope);
    EmbeddedPlan {
        arguments: plan.arguments.clone(),
        envelope,
    }
}
