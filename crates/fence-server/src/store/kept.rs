//! The stored records, as the store returns them.
//!
//! They are read back, not believed: [`View::account`] judges all signatures again.

use alloy_primitives::{Address, B256, U256};
use calldata_checks::{StepKind, UtcSeconds};
use delegation_fence::onchain::SignedDelegation;
use delegation_fence::{
    Account, Admitted, Event, Grant, Instance, Limit, Now, Order, OutOfOrder, Policy, ReadBack,
    Refusal, Sending, Signed, Transaction, Use,
};

use super::{Change, Lease, Write};

/// An installed policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstalledPolicy {
    /// Its canonical text.
    pub document: String,
}

impl InstalledPolicy {
    /// Parses the policy from its text.
    ///
    /// # Errors
    /// `policy_malformed`, `policy_unenforceable`
    pub fn policy(&self) -> Result<Policy, Refusal> {
        Policy::parse(&self.document)
    }

    /// The policy for confirmations. Name and digest are computed from the text, not taken from
    /// other columns.
    #[must_use]
    pub fn read_back(&self) -> ReadBack {
        self.policy()
            .map_or(ReadBack::Unreadable, |policy| ReadBack::of(&policy))
    }
}

/// A stored grant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptGrant {
    /// The grant with its signature.
    pub signed: Signed<Grant>,
    /// The account whose key had to sign it.
    pub owner: Address,
    /// The delegations that came with it (`eoa7702`).
    pub delegations: Vec<SignedDelegation>,
    /// The time of receipt.
    pub received_at: UtcSeconds,
}

/// A stored limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptLimit {
    /// The limit with its signature.
    pub signed: Signed<Limit>,
    /// The time of receipt.
    pub received_at: UtcSeconds,
}

/// The end of a grant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ended {
    /// The time, in Unix seconds.
    pub at: u64,
    /// The number of its record in the grant's log.
    pub seq: u64,
}

impl Ended {
    /// Whether this end of a grant stays when another one arrives. The time of the end of all
    /// grants rises, and everything else is final.
    pub(super) fn stays(self, grant_id: B256, ended_at: u64) -> bool {
        !grant_id.is_zero() || self.at >= ended_at
    }
}

/// The state of an account, restricted to one grant and one plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct View {
    /// The account.
    pub account: Address,
    /// Rises with every write about the account. 0 when nothing was written.
    pub version: u64,
    /// The id of the requested grant.
    pub grant_id: B256,
    /// The grant, if it was received.
    pub grant: Option<KeptGrant>,
    /// The tightest limits, at most one for each member.
    pub limits: Vec<KeptLimit>,
    /// Its end, even when the grant was never received.
    pub ended: Option<Ended>,
    /// The latest end of all grants: it ends every grant that was issued until then.
    pub ended_all: Option<Ended>,
    /// The plans under the grant whose third step was ordered.
    pub uses: Vec<Use>,
    /// The requested plan with the digest of its order, if any account has ordered it.
    pub plan: Option<(B256, B256)>,
    /// A plan that is being sent, with the digest of its order: of the account, or of another one
    /// that the person who signed the grant signs for. It is another one than the requested plan,
    /// if there is one.
    pub in_flight: Option<(B256, B256)>,
}

impl View {
    /// Restores the account for the fence, which judges all signatures again.
    ///
    /// # Errors
    /// `domain_*_mismatch` for what another instance has received, and the other names of
    /// [`Instance::restore_grant`].
    pub fn account(&self, instance: &Instance) -> Result<Account, Refusal> {
        let mut account = Account::new(self.account);
        if let Some(grant) = &self.grant {
            account.receive(instance.restore_grant(grant.signed.clone(), grant.owner)?)?;
            for limit in tightest_of(&self.limits) {
                // The limit's time was judged at its receipt, by the clock of that time.
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

/// Selects the tightest limits: for each member, the limit with the lowest value.
pub(crate) fn tightest_of(limits: &[KeptLimit]) -> Vec<&KeptLimit> {
    let lowest = |value: fn(&Limit) -> U256| {
        let of = move |kept: &&KeptLimit| value(kept.signed.message());
        // Zero sets no limit.
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

/// Selects the rows of limits that add nothing to the tightest ones.
pub(super) fn superseded(limits: Vec<(i64, KeptLimit)>) -> Vec<i64> {
    let (ids, limits): (Vec<i64>, Vec<KeptLimit>) = limits.into_iter().unzip();
    let kept = tightest_of(&limits);
    let all = ids.into_iter().zip(&limits);
    all.filter(|(_, limit)| !kept.contains(limit))
        .map(|(id, _)| id)
        .collect()
}

/// An ordered plan with its events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptSubmission {
    /// The state of its account, grant and plan, from the same reading.
    pub view: View,
    /// The order.
    pub order: Signed<Order>,
    /// The tool's arguments, unchanged.
    pub request: String,
    /// The plan, unchanged.
    pub envelope: String,
    /// The admitted steps, which are sent.
    pub admitted: Admitted,
    /// The time of acceptance.
    pub accepted_at: UtcSeconds,
    /// The gas cost in micro US dollars: an estimate until [`Change::Gas`] replaces it.
    pub gas_micro_usd: u64,
    /// Whether the plan is still open.
    pub is_open: bool,
    /// The events, in the order in which they were written.
    pub events: Vec<Event>,
}

impl KeptSubmission {
    /// The state of the send, from the events.
    ///
    /// # Errors
    /// [`OutOfOrder`] for an impossible sequence.
    pub fn sending(&self) -> Result<Sending, OutOfOrder> {
        Sending::replay(&self.admitted, &self.events)
    }

    /// The highest number of a block with a transaction of the plan. 0 before the first one.
    #[must_use]
    pub fn newest_block(&self) -> u64 {
        let numbers = self.events.iter().filter_map(|event| match event {
            Event::Sealed { block, .. } => Some(block.number),
            _ => None,
        });
        numbers.max().unwrap_or_default()
    }

    /// The write of the next event, on the conditions that nothing was written about the account
    /// since this reading and that the lease is still held. It counts the plan as a use when its
    /// third step is ordered, and closes it when nothing is left to do.
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
