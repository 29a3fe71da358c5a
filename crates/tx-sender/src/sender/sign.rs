//! Decides which records need another transaction and at what fees, and gets it signed.

use alloy_primitives::U256;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::driver::{Driver, Stop};
use crate::node::View;
use crate::record::{cost, noop_cost};
use crate::{
    AboveCap, Attempt, Fees, Hold, Kind, Market, Record, SignError, Unsigned, first, outbid, signed,
};

/// A transaction that needs a signature.
pub(super) struct Draft {
    record: Record,
    kind: Kind,
    fees: Fees,
    /// The most gas of a transaction without effect.
    noop_gas: u64,
}

impl Driver {
    /// Returns the transactions that need a signature now.
    pub(super) fn drafts(
        &mut self,
        view: &View,
        market: Market,
        (balance, noop_gas): (U256, u64),
        records: &[Record],
    ) -> Vec<Draft> {
        let mut drafts = Vec::new();
        let mut open: Vec<&Record> = records
            .iter()
            .filter(|record| record.waits_for_block(view.count))
            .collect();
        let mut committed = open.iter().fold(U256::ZERO, |sum, record| {
            sum.saturating_add(record.most_cost())
                .saturating_add(self.added_fees)
        });
        open.sort_by_key(|record| record.nonce);
        for record in open {
            let Some((kind, fees)) = self.due(view, market, record) else {
                self.paces.of(record).at_cap_since = None;
                continue;
            };
            let fees = match fees {
                Ok(fees) => fees,
                Err(above) => {
                    self.at_cap(record, market, above);
                    continue;
                }
            };
            let most = match kind {
                Kind::Request => cost(&record.request, fees),
                Kind::Noop => noop_cost(noop_gas, fees),
            };
            let more = most.saturating_sub(record.most_cost());
            committed = committed.saturating_add(more);
            if committed > balance && !more.is_zero() {
                committed = committed.saturating_sub(more);
                self.held(Hold::NoGas {
                    account: self.lane.account,
                    needed: committed.saturating_add(more),
                    balance,
                });
                continue;
            }
            drafts.push(Draft {
                record: record.clone(),
                kind,
                fees,
                noop_gas,
            });
        }
        drafts
    }

    /// Decides whether the record needs another transaction, of which kind, and at what fees.
    fn due(
        &mut self,
        view: &View,
        market: Market,
        record: &Record,
    ) -> Option<(Kind, Result<Fees, AboveCap>)> {
        let kind = match record.closing {
            Some(_) => Kind::Noop,
            None => Kind::Request,
        };
        let cap = self.cap(record, kind);
        let bump_after = self.policy.bump_after;
        let within = self.least_tip_within(cap);
        let pace = self.paces.of(record);
        let Some(newest) = record.newest() else {
            return Some((kind, within.and_then(|()| first(market, cap))));
        };
        // Higher fees do not help a request that is invalid itself, or that lacks coins.
        let changes = newest.kind != kind;
        let old = pace.newest_since.elapsed() >= bump_after && !pace.lacks_coins(self.balance);
        let too_low = newest.fees.most() < market.least();
        let refused = pace.is_outbid();
        let is_first = record.nonce == Some(view.count);
        (changes || refused || (old && (is_first || too_low))).then(|| {
            let raised = || outbid(&record.fees(), market, cap, pace.step);
            (kind, within.and_then(|()| raised()))
        })
    }

    /// Handles a record whose fees cannot be raised: the same bytes are sent again. That holds the
    /// lane only while they cannot be mined. So it is when they are below the market, when nodes
    /// require higher fees than the market, or when they are not the transaction that should use
    /// the nonce.
    fn at_cap(&mut self, record: &Record, market: Market, above: AboveCap) {
        let pace = self.paces.of(record);
        let waits = record.newest().is_none_or(|newest| {
            newest.fees.most() < market.least()
                || pace.is_outbid()
                || (record.closing.is_some() && newest.kind == Kind::Request)
        });
        if waits {
            pace.at_cap_since.get_or_insert_with(Instant::now);
            self.held(above.into());
        } else {
            pace.at_cap_since = None;
        }
    }

    /// Gets the drafts signed, all at the same time, and stores the signed bytes before any of them
    /// is sent. A signer's answer counts only when it is the requested transaction.
    pub(super) async fn sign(
        &mut self,
        records: &mut [Record],
        drafts: Vec<Draft>,
    ) -> Result<(), Stop> {
        let mut signing = JoinSet::new();
        let signer = self.shared.signer(self.lane.account);
        for draft in drafts {
            let Some(nonce) = draft.record.nonce else {
                continue;
            };
            let unsigned = self.unsigned(&draft, nonce);
            let signer = signer.clone();
            let patience = self.policy.signer_timeout;
            signing.spawn(async move {
                let checked = match &signer {
                    Some(signer) => signed(&**signer, &unsigned, patience).await,
                    None => Err(SignError::Unavailable),
                };
                (draft, checked)
            });
        }
        let (mut changed, mut raised) = (Vec::new(), 0_u32);
        for (draft, checked) in signing.join_all().await {
            let noop_gas = (draft.kind == Kind::Noop).then_some(draft.noop_gas);
            let Draft {
                record, kind, fees, ..
            } = draft;
            match checked {
                Ok(checked) => {
                    if !record.attempts.is_empty() {
                        raised = raised.saturating_add(1);
                    }
                    changed.extend(record.sign(Attempt {
                        kind,
                        fees,
                        hash: checked.hash,
                        raw: checked.raw,
                        noop_gas,
                    }));
                }
                Err(error) => self.held(Hold::Signer(error)),
            }
        }
        self.write(records, changed).await?;
        for _ in 0..raised {
            self.metrics.bumped();
        }
        Ok(())
    }

    fn unsigned(&self, draft: &Draft, nonce: u64) -> Unsigned {
        let request = &draft.record.request;
        let (chain_id, fees) = (self.lane.chain_id, draft.fees);
        match draft.kind {
            Kind::Request => Unsigned {
                chain_id,
                nonce,
                to: request.to,
                value: request.value,
                input: request.input.clone(),
                gas_limit: request.gas_limit,
                fees,
            },
            Kind::Noop => Unsigned {
                chain_id,
                nonce,
                to: self.lane.account,
                value: U256::ZERO,
                input: Default::default(),
                gas_limit: draft.noop_gas,
                fees,
            },
        }
    }
}

impl From<AboveCap> for Hold {
    fn from(above: AboveCap) -> Self {
        Self::FeesAboveCap {
            needed: above.needed,
            cap: above.cap,
        }
    }
}
