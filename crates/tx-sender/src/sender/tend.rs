//! The work on records without an outcome: closing requests, filling missing nonces, and claiming
//! nonces.

use std::time::Duration;

use alloy_primitives::U256;
use tokio::time::Instant;

use super::driver::{Driver, Stop};
use crate::node::View;
use crate::record::{NOOP_GAS, cost};
use crate::{AboveCap, Closing, Hold, Kind, Market, Record, State, first};

/// For how long a tip that the nodes have demanded counts. Then their suggestion counts again.
const LEAST_TIP_FOR: Duration = Duration::from_secs(600);

impl Driver {
    /// Does everything that is due.
    pub(super) async fn tend(
        &mut self,
        view: &View,
        records: &mut Vec<Record>,
    ) -> Result<(), Stop> {
        // When nodes contradict each other, nobody knows on which chain nonces are free. Sending
        // the same bytes again is harmless.
        if view.contradiction.is_some() {
            return self.send(view, records).await;
        }
        self.close_what_is_over(view, records).await?;
        self.fill_gaps(view, records).await?;
        let is_open = |record: &Record| record.state == State::Prepared || record.is_outstanding();
        if !records.iter().any(is_open) {
            return Ok(());
        }
        let open = || records.iter().filter(|record| is_open(record));
        let bytes = open().map(|record| record.request.input.len()).max();
        let gas = open().map(|record| record.request.gas_limit).max();
        let (market, balance, added_fees) = tokio::try_join!(
            view.market(),
            view.balance(),
            view.added_fees(bytes.unwrap_or_default(), gas.unwrap_or_default()),
        )?;
        let market = market.with_least_tip(self.least_tip());
        (self.balance, self.added_fees) = (balance, added_fees);
        self.clear_the_way(view, market, records).await?;
        self.read_prepared_again(records).await?;
        self.admit(view, market, balance, records).await?;
        let closes = |record: &Record| record.is_outstanding() && record.closing.is_some();
        let noop_gas = match self.policy.noop_gas {
            Some(gas) => gas,
            None if records.iter().any(closes) => view.noop_gas().await?,
            None => NOOP_GAS,
        };
        let drafts = self.drafts(view, market, (balance, noop_gas), records);
        self.sign(records, drafts).await?;
        self.send(view, records).await
    }

    /// Closes requests whose time is over. Releases an unused nonce when no later record depends on
    /// it.
    async fn close_what_is_over(
        &mut self,
        view: &View,
        records: &mut [Record],
    ) -> Result<(), Stop> {
        let last = Self::nonces(records).last().copied();
        let mut changed = Vec::new();
        for record in records.iter() {
            let over = record.closing.is_none() && record.request.is_over(view.head.timestamp);
            // This filler did not claim its nonce in the turn that created it.
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

    /// Fills a missing nonce. A nonce that no record has, below one that waits, blocks every
    /// transaction behind it. The next request gets it, or after a while a transaction without
    /// effect.
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

    /// Closes the first transaction in line when it blocks others: it cannot be raised to the
    /// market's price, and another waiting one could be mined. A transaction without effect then
    /// uses its nonce.
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

    /// Reads the requests without a nonce again, because callers may have withdrawn some while the
    /// nodes were asked. Nonces are claimed for all or for none, so one withdrawn request would
    /// make the claim fail. If callers withdrew requests steadily, that would happen in each turn.
    async fn read_prepared_again(&self, records: &mut Vec<Record>) -> Result<(), Stop> {
        let is_prepared = |record: &Record| record.state == State::Prepared;
        if records.iter().any(is_prepared) {
            let mut current = self.shared.store.live(self.lane).await?;
            current.retain(is_prepared);
            records.retain(|record| !is_prepared(record));
            records.extend(current);
            records.sort_unstable_by_key(|record| record.id);
        }
        Ok(())
    }

    /// Assigns nonces to as many requests as may be pending. Each record claims the lowest free
    /// nonce.
    async fn admit(
        &mut self,
        view: &View,
        market: Market,
        balance: U256,
        records: &mut [Record],
    ) -> Result<(), Stop> {
        // A transaction that is in a block only waits for its receipt, so it does not count.
        let outstanding = records
            .iter()
            .filter(|record| record.waits_for_block(view.count));
        let (mut room, mut committed) = (self.policy.max_in_flight, U256::ZERO);
        for record in outstanding {
            room = room.saturating_sub(1);
            let fees = first(market, self.cap(record, Kind::Request));
            let cost = match (record.attempts.is_empty(), fees) {
                (true, Ok(fees)) => cost(&record.request, fees),
                _ => record.most_cost(),
            };
            committed = committed
                .saturating_add(cost)
                .saturating_add(self.added_fees);
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
            let cap = self.cap(record, Kind::Request);
            let fees = self.least_tip_within(cap).and_then(|()| first(market, cap));
            let fees = match fees {
                Ok(fees) => fees,
                Err(above) => {
                    self.held(above.into());
                    continue;
                }
            };
            let each = cost(&record.request, fees).saturating_add(self.added_fees);
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
            let Some(lowest) = (view.count..).find(|nonce| !nonces.contains(nonce)) else {
                break;
            };
            // A request with a highest nonce must not use a later one. When that nonce is used, it
            // shows what has used it.
            let highest = record.highest_nonce.filter(|nonce| !nonces.contains(nonce));
            let nonce = highest.map_or(lowest, |highest| highest.min(lowest));
            nonces.insert(nonce);
            claimed.extend(record.claim(nonce));
        }
        self.write(records, claimed).await
    }

    /// Returns the tip below which the nodes have lately refused transactions, in wei per gas.
    fn least_tip(&self) -> u128 {
        let recent = self
            .least_tip
            .filter(|(_, since)| since.elapsed() < LEAST_TIP_FOR);
        recent.map_or(0, |(tip, _)| tip)
    }

    /// Checks that the nodes accept a tip below the cap. Otherwise higher fees are of no use.
    ///
    /// # Errors
    /// [`AboveCap`] with the tip that they demand.
    pub(super) fn least_tip_within(&self, cap: u128) -> Result<(), AboveCap> {
        match self.least_tip() {
            needed if needed > cap => Err(AboveCap { needed, cap }),
            _ => Ok(()),
        }
    }

    /// Returns the highest price of a unit of gas for a transaction of this kind.
    pub(super) fn cap(&self, record: &Record, kind: Kind) -> u128 {
        match kind {
            Kind::Request => {
                let own = record.request.max_fee_per_gas;
                own.unwrap_or(self.policy.max_fee_per_gas)
            }
            Kind::Noop => self.policy.noop_cap(),
        }
    }
}
