//! Compares the records of a lane with the chain: which blocks are still canonical, which nonces
//! are used, and which transactions have used them.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use alloy_primitives::B256;
use tokio::time::Instant;

use super::driver::{Driver, Stop};
use crate::node::{Canonical, View};
use crate::policy::WATCHED_BLOCKS;
use crate::{Hold, Inclusion, Receipt, Record, State};

impl Driver {
    /// Updates the records from the chain.
    pub(super) async fn look(&mut self, view: &View, records: &mut [Record]) -> Result<(), Stop> {
        if let Some(number) = view.contradiction {
            self.anchor = None;
            self.held(Hold::Contradiction { number });
            return Ok(());
        }
        self.watch_blocks(view, records).await?;
        self.find_included(view, records).await?;
        self.anchored = match self.anchor {
            Some(_) => inclusions(records).collect(),
            None => BTreeSet::new(),
        };
        self.settle(view, records).await
    }

    /// Undoes states that depend on a block that is not canonical any more.
    ///
    /// While the head of the last check is canonical, so are its ancestors. Then one question is
    /// enough, and one more for each block that another sender has found since.
    async fn watch_blocks(&mut self, view: &View, records: &mut [Record]) -> Result<(), Stop> {
        let mut blocks: BTreeMap<(u64, B256), Canonical> = inclusions(records)
            .map(|block| (block, Canonical::Missing))
            .collect();
        let here = (view.head.number, view.head.hash);
        if blocks.is_empty() {
            self.anchor = Some(here);
            self.anchored.clear();
            return Ok(());
        }
        let anchor = self.anchor.take();
        let is_canonical = match anchor {
            Some((number, hash)) if anchor != Some(here) => {
                self.nodes.canonical(view, number, hash).await? == Canonical::Yes
            }
            known => known.is_some(),
        };
        if is_canonical {
            blocks.retain(|block, _| !self.anchored.contains(block));
        } else {
            self.anchored.clear();
        }
        if blocks.is_empty() {
            self.anchor = anchor;
            if anchor == Some(here) {
                return Ok(());
            }
            return self.move_anchor(view).await;
        }
        let mut all_there = true;
        for ((number, hash), canonical) in &mut blocks {
            *canonical = self.nodes.canonical(view, *number, *hash).await?;
            match canonical {
                Canonical::Yes | Canonical::No => {}
                // The chain is shorter than before, or the node is behind.
                Canonical::Missing => all_there = false,
                Canonical::Contradicted => {
                    all_there = false;
                    self.held(Hold::Contradiction { number: *number });
                }
            }
        }
        let mut back = Vec::new();
        for record in records.iter().filter(|record| !record.is_final) {
            let Some(Inclusion { number, block, .. }) = record.state.inclusion() else {
                continue;
            };
            if blocks.get(&(number, block)) != Some(&Canonical::No) {
                continue;
            }
            if let Ok(next) = record.reorganise() {
                tracing::warn!(
                    key = record.key, lane = %self.lane, state = record.state.as_str(), number,
                    "a reorganisation has taken the block of a transaction back"
                );
                back.push(next);
            }
        }
        for record in &back {
            self.metrics.reorganised();
            self.paces.reorganised(record);
        }
        self.write(records, back).await?;
        if all_there {
            self.move_anchor(view).await?;
        }
        Ok(())
    }

    /// Moves the anchor to the head. The ancestors of the head contain every inclusion that was
    /// just found to be canonical. But the head was read earlier: if the node has switched to
    /// another chain since, the next turn checks the inclusions again.
    async fn move_anchor(&mut self, view: &View) -> Result<(), Stop> {
        let (number, hash) = (view.head.number, view.head.hash);
        let canonical = self.nodes.canonical_now(number, hash).await?;
        self.anchor = (canonical == Canonical::Yes).then_some((number, hash));
        Ok(())
    }

    /// Finds the blocks of the records whose nonce is used.
    async fn find_included(&mut self, view: &View, records: &mut [Record]) -> Result<(), Stop> {
        let used = |record: &&Record| {
            record.is_outstanding() && record.nonce.is_some_and(|nonce| nonce < view.count)
        };
        let waiting: Vec<Record> = records.iter().filter(used).cloned().collect();
        let included = self.own_inclusions(view, &waiting).await?;
        let mut changed = Vec::new();
        for record in waiting {
            let may_have_another =
                record.nonce < record.highest_nonce || record.highest_nonce.is_none();
            if record.attempts.is_empty() && may_have_another {
                // Nothing was ever signed for this nonce, so the record can take another one.
                let next = match record.closing {
                    Some(_) => record.withdraw(),
                    None => record.release(),
                };
                changed.extend(next);
                continue;
            }
            // The newest transaction is the likeliest one.
            let mut attempts = record.attempts.iter().rev();
            match attempts.find_map(|attempt| included.get(&attempt.hash)) {
                Some(inclusion) => changed.extend(self.included(view, &record, *inclusion)),
                None => changed.extend(self.foreign_inclusion(view, &record).await?),
            }
        }
        let below_head = |record: &Record| {
            let inclusion = record.state.inclusion();
            inclusion.is_some_and(|inclusion| inclusion.block != view.head.hash)
        };
        if self.anchor.is_some() && changed.iter().any(below_head) {
            self.move_anchor(view).await?;
        }
        self.write(records, changed).await
    }

    /// Returns the record as `mined`, or as sealed at once when its block is deep enough. So there
    /// is only one write.
    fn included(&self, view: &View, record: &Record, inclusion: Inclusion) -> Option<Record> {
        let mined = record.mine(inclusion).ok()?;
        if self.is_deep(&mined, inclusion.number, view, 0) {
            return mined.seal().ok();
        }
        Some(mined)
    }

    /// Returns the canonical blocks that have transactions of these records, by transaction. A
    /// receipt alone is not enough: nodes also return receipts of proposed blocks, which may never
    /// become canonical. All receipts are asked for together, and each block once.
    async fn own_inclusions(
        &mut self,
        view: &View,
        records: &[Record],
    ) -> Result<HashMap<B256, Inclusion>, Stop> {
        let hashes: Vec<B256> = records.iter().flat_map(Record::hashes).collect();
        if hashes.is_empty() {
            return Ok(HashMap::new());
        }
        let mut receipts = self.nodes.receipts(hashes).await;
        receipts.retain(|receipt| receipt.number <= view.head.number);
        let mut blocks = BTreeMap::new();
        for Receipt { number, block, .. } in &receipts {
            blocks.insert((*number, *block), Canonical::Missing);
        }
        for ((number, block), canonical) in &mut blocks {
            *canonical = self.nodes.canonical(view, *number, *block).await?;
            if *canonical == Canonical::Contradicted {
                self.held(Hold::Contradiction { number: *number });
            }
        }
        receipts.retain(|receipt| {
            blocks.get(&(receipt.number, receipt.block)) == Some(&Canonical::Yes)
        });
        let inclusions = receipts.into_iter().map(|receipt| {
            let inclusion = Inclusion {
                hash: receipt.hash,
                number: receipt.number,
                block: receipt.block,
                succeeded: receipt.succeeded,
            };
            (receipt.hash, inclusion)
        });
        Ok(inclusions.collect())
    }

    /// Returns the record as `replaced` when a block shows that a foreign transaction has used its
    /// nonce. A missing receipt proves nothing.
    async fn foreign_inclusion(
        &mut self,
        view: &View,
        record: &Record,
    ) -> Result<Option<Record>, Stop> {
        let Some(nonce) = record.nonce else {
            return Ok(None);
        };
        let (now, pause) = (Instant::now(), self.policy.resend_after);
        let pace = self.paces.of(record);
        let since = *pace.used_since.get_or_insert(now);
        let searched = pace.searched_at;
        if now < searched.unwrap_or(since) + pause {
            // What the last search did not find stays unknown until the next search.
            if searched.is_some() {
                self.held(Hold::OutcomeUnknown { nonce });
            }
            return Ok(None);
        }
        pace.searched_at = Some(now);
        let user = match view.user_of(self.lane.account, nonce).await {
            Ok(user) => user,
            Err(fault) => {
                tracing::debug!(lane = %self.lane, nonce, %fault, "the user of a nonce cannot be found yet");
                None
            }
        };
        // One of our own transactions may have used the nonce, and the node does not show its
        // receipt yet.
        let foreign = user.filter(|user| record.hashes().all(|hash| hash != user.hash));
        let Some(user) = foreign else {
            self.held(Hold::OutcomeUnknown { nonce });
            return Ok(None);
        };
        let canonical = self.nodes.canonical(view, user.number, user.block).await?;
        if canonical != Canonical::Yes || !self.is_deep(record, user.number, view, 0) {
            return Ok(None);
        }
        tracing::warn!(
            key = record.key, lane = %self.lane, nonce, by = %user.hash,
            "a transaction that is not ours has used a nonce"
        );
        Ok(record.mine(user).ok())
    }

    /// Seals records that are deep enough. Makes records final when no reorganisation is expected
    /// to reach them.
    async fn settle(&mut self, view: &View, records: &mut [Record]) -> Result<(), Stop> {
        let mut changed = Vec::new();
        for record in records.iter().filter(|record| !record.is_final) {
            let Some(inclusion) = record.state.inclusion() else {
                continue;
            };
            // Only blocks that this turn has found to be canonical count.
            if self.anchor != Some((view.head.number, view.head.hash)) {
                continue;
            }
            let mut next = None;
            if matches!(record.state, State::Mined(_))
                && self.is_deep(record, inclusion.number, view, 0)
            {
                next = record.seal().ok();
            }
            if self.is_deep(record, inclusion.number, view, WATCHED_BLOCKS) {
                next = next.as_ref().unwrap_or(record).finish().ok().or(next);
            }
            changed.extend(next);
        }
        self.write(records, changed).await
    }
}

/// Returns the blocks of the records that are not final.
fn inclusions(records: &[Record]) -> impl Iterator<Item = (u64, B256)> + '_ {
    let open = records.iter().filter(|record| !record.is_final);
    let inclusions = open.filter_map(|record| record.state.inclusion());
    inclusions.map(|inclusion| (inclusion.number, inclusion.block))
}
