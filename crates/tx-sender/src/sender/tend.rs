//! What is done about the records that have no outcome: closing, claiming, signing, sending, raising.

use std::time::Duration;

use alloy_primitives::U256;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::driver::{Driver, Stop};
use crate::node::{Delivery, View};
use crate::record::{NOOP_GAS, cost};
use crate::{
    AboveCap, Attempt, Closing, Fees, Hold, Kind, Market, Record, Refusal, SignError, State,
    Unsigned, check, first, outbid,
};

/// How long a delivery may take before the bytes are handed over once more beside it.
const LOST_AFTER: Duration = Duration::from_secs(60);

/// A transaction that is to be signed.
struct Draft {
    record: Record,
    kind: Kind,
    fees: Fees,
}

impl Driver {
    /// Does whatever is due.
    pub(super) async fn tend(
        &mut self,
        view: &View,
        records: &mut Vec<Record>,
    ) -> Result<(), Stop> {
        self.close_what_is_over(view, records).await?;
        self.fill_gaps(view, records).await?;
        let is_open = |record: &Record| record.state == State::Prepared || record.is_outstanding();
        if !records.iter().any(is_open) {
            return Ok(());
        }
        let market = view.market().await?;
        let balance = view.balance(self.lane.account).await?;
        self.balance = balance;
        self.clear_the_way(view, market, records).await?;
        self.admit(view, market, balance, records).await?;
        let drafts = self.drafts(view, market, balance, records);
        self.sign(records, drafts).await?;
        self.send(view, records).await
    }

    /// Requests whose time is over are not sent any more, and a nonce that nothing was signed for and nothing waits behind is given back.
    async fn close_what_is_over(
        &mut self,
        view: &View,
        records: &mut [Record],
    ) -> Result<(), Stop> {
        let last = Self::nonces(records).last().copied();
        let mut changed = Vec::new();
        for record in records.iter() {
            let over = record.closing.is_none() && record.request.is_over(view.head.timestamp);
            // A filler that did not come to its nonce in the turn that made it.
            let idle = record.is_filler() && record.state == State::Prepared;
            let next = if idle {
                record.close(Closing::Gap).ok()
            } else if over {
                record.close(Closing::Expired).ok()
            } else {
                None
            };
            let current = next.as_ref().unwrap_or(record);
            let withdrawn = match record.nonce == last {
                true => current.withdraw().ok(),
                false => None,
            };
            changed.extend(withdrawn.or(next));
        }
        self.write(records, changed).await
    }

    /// A nonce that no record has, below one that waits: nothing behind it can be mined. It is given to the next request, or after a
    /// while to a transaction without effect.
    async fn fill_gaps(&mut self, view: &View, records: &mut Vec<Record>) -> Result<(), Stop> {
        let nonces = Self::nonces(records);
        let last = nonces.last().copied().unwrap_or(view.count);
        let missing = (view.count..last).find(|nonce| !nonces.contains(nonce));
        let Some(missing) = missing else {
            self.gap_since = None;
            return Ok(());
        };
        let since = *self.gap_since.get_or_insert_with(Instant::now);
        if records.iter().any(|record| record.state == State::Prepared)
            || since.elapsed() < self.policy.bump_after
        {
            return Ok(());
        }
        tracing::warn!(lane = %self.lane, nonce = missing, "a missing nonce is filled");
        let filler = Record::filler(self.lane, missing, self.shared.options.clock.now());
        let filler = self.shared.store.insert(filler).await?;
        if let Ok(claimed) = filler.claim(missing) {
            records.push(filler);
            self.write(records, vec![claimed]).await?;
        }
        Ok(())
    }

    /// The first transaction in line cannot be raised to what the market asks, and another one that waits could be mined: the first one's
    /// nonce is used for nothing.
    async fn clear_the_way(
        &mut self,
        view: &View,
        market: Market,
        records: &mut [Record],
    ) -> Result<(), Stop> {
        let first = records.iter().find(|record| {
            record.is_outstanding() && record.nonce == Some(view.count) && record.closing.is_none()
        });
        let Some(first) = first else { return Ok(()) };
        let stuck = self.paces.of(first).at_cap_since;
        let stuck = stuck.is_some_and(|since| since.elapsed() >= self.policy.clear_after);
        let cap = self.cap(first, Kind::Request);
        let others = records.iter().any(|record| {
            let waits = record.state == State::Prepared || record.is_outstanding();
            let other = self.cap(record, Kind::Request);
            waits && other > cap && other >= market.least()
        });
        if !stuck || !others || market.least() <= cap {
            return Ok(());
        }
        let closed = first.close(Closing::InTheWay).ok();
        self.write(records, closed.into_iter().collect()).await
    }

    /// Gives nonces to as many requests as may be on their way: each record claims its own, the lowest that is free.
    async fn admit(
        &mut self,
        view: &View,
        market: Market,
        balance: U256,
        records: &mut [Record],
    ) -> Result<(), Stop> {
        let outstanding = records.iter().filter(|record| record.is_outstanding());
        let (mut room, mut committed) = (self.policy.max_in_flight, U256::ZERO);
        for record in outstanding {
            room = room.saturating_sub(1);
            let fees = first(market, self.cap(record, Kind::Request));
            let cost = match (record.attempts.is_empty(), fees) {
                (true, Ok(fees)) => cost(&record.request, fees),
                _ => record.most_cost(),
            };
            committed = committed.saturating_add(cost);
        }
        let mut nonces = Self::nonces(records);
        let mut claimed = Vec::new();
        for record in records
            .iter()
            .filter(|record| record.state == State::Prepared && record.closing.is_none())
        {
            if claimed.len() >= room {
                break;
            }
            let fees = match first(market, self.cap(record, Kind::Request)) {
                Ok(fees) => fees,
                Err(above) => {
                    self.held(above.into());
                    continue;
                }
            };
            let each = cost(&record.request, fees);
            let left = balance.saturating_sub(committed).checked_div(each);
            self.transactions_left = Some(left.map_or(u64::MAX, |left| left.saturating_to()));
            committed = committed.saturating_add(each);
            if committed > balance {
                self.held(Hold::NoGas {
                    account: self.lane.account,
                    needed: committed,
                    balance,
                });
                break;
            }
            let Some(nonce) = (view.count..).find(|nonce| !nonces.contains(nonce)) else {
                break;
            };
            nonces.insert(nonce);
            claimed.extend(record.claim(nonce));
        }
        self.write(records, claimed).await
    }

    /// The most that one gas of such a transaction may cost.
    fn cap(&self, record: &Record, kind: Kind) -> u128 {
        match kind {
            Kind::Request => {
                let own = record.request.max_fee_per_gas;
                own.unwrap_or(self.policy.max_fee_per_gas)
            }
            Kind::Noop => self.policy.noop_cap(),
        }
    }

    /// What is to be signed now.
    fn drafts(
        &mut self,
        view: &View,
        market: Market,
        balance: U256,
        records: &[Record],
    ) -> Vec<Draft> {
        let mut drafts = Vec::new();
        let mut committed = records
            .iter()
            .filter(|record| record.is_outstanding())
            .fold(U256::ZERO, |sum, record| {
                sum.saturating_add(record.most_cost())
            });
        let mut open: Vec<&Record> = records
            .iter()
            .filter(|record| {
                record.is_outstanding() && record.nonce.is_some_and(|nonce| nonce >= view.count)
            })
            .collect();
        open.sort_by_key(|record| record.nonce);
        for record in open {
            let Some((kind, fees)) = self.due(view, market, record) else {
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
                Kind::Noop => U256::from(NOOP_GAS).saturating_mul(U256::from(fees.most())),
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
            });
        }
        drafts
    }

    /// Whether the record needs another transaction, of which kind, and at what fees.
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
        let pace = self.paces.of(record);
        let Some(newest) = record.newest() else {
            return Some((kind, first(market, cap)));
        };
        // A raise is no answer to what is wrong with the request itself.
        let changes = newest.kind != kind;
        let old = pace.newest_since.elapsed() >= bump_after;
        let too_low = newest.fees.most() < market.least();
        let refused = matches!(
            pace.refusal,
            Some(Refusal::Underpriced | Refusal::FeesTooLow)
        );
        let is_first = record.nonce == Some(view.count);
        (changes || refused || (old && (is_first || too_low)))
            .then(|| (kind, outbid(&record.fees(), market, cap, pace.step)))
    }

    /// Nothing can be raised: the same bytes are sent again. That holds the lane only while they cannot be mined.
    fn at_cap(&mut self, record: &Record, market: Market, above: AboveCap) {
        let pace = self.paces.of(record);
        pace.at_cap_since.get_or_insert_with(Instant::now);
        let waits = record
            .newest()
            .is_none_or(|newest| newest.fees.most() < market.least());
        if waits {
            self.held(above.into());
        }
    }

    /// Has the drafts signed, all at once, and stores the signed bytes before anything is sent. What comes back is only believed when it is what was
    /// asked for.
    async fn sign(&mut self, records: &mut [Record], drafts: Vec<Draft>) -> Result<(), Stop> {
        let mut signing = JoinSet::new();
        for draft in drafts {
            let Some(nonce) = draft.record.nonce else {
                continue;
            };
            let unsigned = self.unsigned(&draft, nonce);
            let (signer, account) = (std::sync::Arc::clone(&self.signer), self.lane.account);
            let patience = self.policy.signer_timeout;
            signing.spawn(async move {
                let signed = tokio::time::timeout(patience, signer.sign(&unsigned)).await;
                let signed = signed.unwrap_or(Err(SignError::Unavailable));
                let checked = signed.and_then(|raw| check(&raw, &unsigned, account));
                (draft, checked)
            });
        }
        let (mut changed, mut raised) = (Vec::new(), 0_u32);
        for (draft, checked) in signing.join_all().await {
            let Draft { record, kind, fees } = draft;
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
                gas_limit: NOOP_GAS,
                fees,
            },
        }
    }

    /// Hands over what no node has, and what waits for long: the same bytes, to all nodes from the second time on. A node that does not
    /// answer is not waited for.
    async fn send(&mut self, view: &View, records: &mut [Record]) -> Result<(), Stop> {
        let mut open: Vec<&Record> = records
            .iter()
            .filter(|record| matches!(record.state, State::Signed | State::Broadcast))
            .collect();
        open.sort_by_key(|record| record.nonce);
        let (mut patience, now) = (Duration::ZERO, Instant::now());
        for record in open {
            let Some(newest) = record.newest() else {
                continue;
            };
            let pace = self.paces.of(record);
            let wait = if pace.accepted {
                self.policy.resend_after
            } else {
                self.policy.poll_interval
            };
            let is_recent = |at: Option<Instant>, wait| at.is_some_and(|at| at + wait > now);
            if is_recent(pace.sent_at, wait) || is_recent(pace.sending_since, LOST_AFTER) {
                continue;
            }
            pace.sending_since = Some(now);
            let again = pace.sent_at.is_some();
            let (nodes, view) = (self.nodes.clone(), view.clone());
            let (id, hash, raw) = (record.id, newest.hash, newest.raw.clone());
            self.sending
                .spawn(async move { (id, hash, nodes.deliver(&view, &raw, again).await) });
            patience = self.policy.poll_interval;
        }
        let mut deliveries = Vec::new();
        while let Ok(Some(done)) =
            tokio::time::timeout_at(now + patience, self.sending.join_next()).await
        {
            deliveries.extend(done);
        }
        let mut changed = Vec::new();
        for (id, hash, delivery) in deliveries {
            let of_newest = |record: &&Record| {
                record.id == id && record.newest().is_some_and(|newest| newest.hash == hash)
            };
            if let Some(record) = records.iter().find(of_newest) {
                changed.extend(self.delivered(record, &delivery));
            }
        }
        self.write(records, changed).await
    }

    /// What follows from a delivery: the record as it will be, if it changes.
    fn delivered(&mut self, record: &Record, delivery: &Delivery) -> Option<Record> {
        self.paces.delivered(record, delivery);
        self.note_refusal(record, delivery);
        let mut next = record.clone();
        if delivery.shown && record.state == State::Signed {
            next = record.broadcast().unwrap_or(next);
        }
        if let Some((Refusal::Invalid, words)) = &delivery.refusal
            && record.closing.is_none()
            && let Ok(closed) = next.close(Closing::Refused(words.clone()))
        {
            tracing::warn!(key = record.key, lane = %self.lane, words, "every node refuses a transaction");
            next = closed;
        }
        (next != *record).then_some(next)
    }

    /// Names what a refusal holds the lane with, where it does.
    fn note_refusal(&mut self, record: &Record, delivery: &Delivery) {
        if delivery.accepted {
            return;
        }
        let Some((kind, words)) = &delivery.refusal else {
            if !delivery.shown {
                self.held(Hold::Nodes(crate::NodeFault::Unreachable));
            }
            return;
        };
        match kind {
            Refusal::NoFunds => self.held(Hold::NoGas {
                account: self.lane.account,
                needed: record.most_cost(),
                balance: self.balance,
            }),
            Refusal::Unclear => self.held(Hold::Nodes(crate::NodeFault::Refused {
                code: 0,
                message: words.clone(),
            })),
            // Answered by the next look, by a raise, or by what comes before.
            _ => {}
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
