//! What the store gives back.

use alloy_primitives::{Address, B256, U256};
use calldata_checks::{StepKind, UtcSeconds};
use delegation_fence::onchain::SignedDelegation;
use delegation_fence::{
    Account, Admitted, Event, Grant, Instance, Limit, Now, Order, OutOfOrder, Policy, ReadBack,
    Refusal, Sending, Signed, Transaction, Use,
};

use super::{Change, Lease, Write};

/// A policy as it was stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstalledPolicy {
    /// Its canonical text.
    pub document: String,
}

impl InstalledPolicy {
    /// The policy, read from its text.
    ///
    /// # Errors
    /// `policy_malformed`, `policy_unenforceable`
    pub fn policy(&self) -> Result<Policy, Refusal> {
        Policy::parse(&self.document)
    }

    /// What is confirmed of it. Name and digest are those of the text, whatever stands beside it.
    #[must_use]
    pub fn read_back(&self) -> ReadBack {
        self.policy()
            .map_or(ReadBack::Unreadable, |policy| ReadBack::of(&policy))
    }
}

/// A grant as it was received.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptGrant {
    /// With its signature.
    pub signed: Signed<Grant>,
    /// Whose key had to sign it.
    pub owner: Address,
    /// The delegations that came with it (`eoa7702`).
    pub delegations: Vec<SignedDelegation>,
    /// When it came.
    pub received_at: UtcSeconds,
}

/// A limit as it was received.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptLimit {
    /// With its signature.
    pub signed: Signed<Limit>,
    /// When it came.
    pub received_at: UtcSeconds,
}

/// The end of a grant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ended {
    /// When, in Unix seconds.
    pub at: u64,
    /// Its record in the grant's log.
    pub seq: u64,
}

/// What is known of an account, as far as one grant and one plan are concerned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct View {
    /// The account.
    pub account: Address,
    /// Rises with every write about the account; 0 when nothing was written.
    pub version: u64,
    /// The grant that was asked for.
    pub grant_id: B256,
    /// The grant, if it came.
    pub grant: Option<KeptGrant>,
    /// The tightest of everything that tightened it: at most one limit for each member.
    pub limits: Vec<KeptLimit>,
    /// Its end, also of a grant that never came.
    pub ended: Option<Ended>,
    /// The end of every grant that was issued until then.
    pub ended_all: Option<Ended>,
    /// The plans under the grant whose third step was ordered to be signed.
    pub uses: Vec<Use>,
    /// The plan that was asked for with the digest of its order, if it was ordered, by whatever
    /// account.
    pub plan: Option<(B256, B256)>,
    /// A plan of the account that is being sent, with the digest of its order: another one than the
    /// one that was asked for, if there is one.
    pub in_flight: Option<(B256, B256)>,
}

impl View {
    /// The account as the fence judges it. Signatures are judged again.
    ///
    /// # Errors
    /// `domain_*_mismatch` for what was received by another instance, and the other names of
    /// [`Instance::restore_grant`].
    pub fn account(&self, instance: &Instance) -> Result<Account, Refusal> {
        let mut account = Account::new(self.account);
        if let Some(grant) = &self.grant {
            account.receive(instance.restore_grant(grant.signed.clone(), grant.owner)?)?;
            for limit in tightest_of(&self.limits) {
                // Its time was judged when it came, by the clock of that time.
                let then = limit
                    .received_at
                    .unix()
                    .max(limit.signed.message().issued_at);
                let then = Now::offline(UtcSeconds::from_unix(then));
                account.tighten(&instance.receive_limit(
                    limit.signed.clone(),
                    grant.owner,
                    then,
                )?)?;
            }
            for used in &self.uses {
                account.count(self.grant_id, *used)?;
            }
        }
        if let Some(ended) = self.ended {
            account.revoke_by_service(self.grant_id, ended.at);
        }
        if let Some(all) = self.ended_all {
            account.revoke_all_by_service(all.at);
        }
        for (plan, in_flight) in [(self.plan, false), (self.in_flight, true)] {
            if let Some((payload_digest, order_digest)) = plan {
                account.restore_order(payload_digest, order_digest, in_flight);
            }
        }
        Ok(account)
    }
}

/// Of any number of limits the few that say the most: for each member the one with the lowest
/// value.
pub(super) fn tightest_of(limits: &[KeptLimit]) -> Vec<&KeptLimit> {
    let lowest = |value: fn(&Limit) -> U256| {
        let of = move |kept: &&KeptLimit| value(kept.signed.message());
        // Zero says nothing.
        let said = limits.iter().filter(move |kept| !of(kept).is_zero());
        said.min_by_key(of)
    };
    [
        lowest(|limit| limit.per_swap_cap),
        lowest(|limit| U256::from(limit.max_swaps)),
        lowest(|limit| limit.outflow_24h),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// A plan that was ordered, and what happened to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptSubmission {
    /// The account, the grant and the plan, read in the same moment.
    pub view: View,
    /// The order.
    pub order: Signed<Order>,
    /// The tool's arguments, as they came.
    pub request: String,
    /// The plan, as it came.
    pub envelope: String,
    /// What was admitted: the bytes that are sent.
    pub admitted: Admitted,
    /// When it was accepted.
    pub accepted_at: UtcSeconds,
    /// What its gas costs, in micro US dollars: an estimate until [`Change::Gas`] says more.
    pub gas_micro_usd: u64,
    /// Whether something is left to be done.
    pub is_open: bool,
    /// What happened, in the order in which it was written.
    pub events: Vec<Event>,
}

impl KeptSubmission {
    /// The send that the events say.
    ///
    /// # Errors
    /// [`OutOfOrder`] for a list that no send can have.
    pub fn sending(&self) -> Result<Sending, OutOfOrder> {
        Sending::replay(&self.admitted, &self.events)
    }

    /// The number of the newest block that a transaction of the plan was seen in; 0 before the
    /// first one.
    #[must_use]
    pub fn newest_block(&self) -> u64 {
        let numbers = self.events.iter().filter_map(|event| match event {
            Event::Sealed { block, .. } => Some(block.number),
            _ => None,
        });
        numbers.max().unwrap_or_default()
    }

    /// The write of the next event, on the condition that nothing was written about the account
    /// since this was read and that the lease is still held. Counts the plan when its third step is
    /// ordered, and says when nothing is left to be done.
    ///
    /// # Errors
    /// [`OutOfOrder`] for an event that cannot follow.
    pub fn append(&self, event: Event, lease: Lease, at: UtcSeconds) -> Result<Write, OutOfOrder> {
        let mut sending = self.sending()?;
        sending.apply(&event)?;
        let counts = matches!(
            event,
            Event::Ordered(Transaction::Step(StepKind::Call) | Transaction::Swap)
        );
        Ok(Write {
            account: self.admitted.account,
            version: self.view.version,
            lease: Some(lease),
            at,
            changes: vec![Change::Event {
                payload_digest: self.admitted.payload_digest,
                grant_id: self.admitted.grant_id,
                number: u64::try_from(self.events.len()).unwrap_or(u64::MAX),
                event,
                counts,
                is_open: !sending.state().is_final(),
            }],
        })
    }
}
