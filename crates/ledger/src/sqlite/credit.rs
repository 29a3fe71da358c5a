//! The sum of each payer's settled payments, and the payer's credit: what the payments earned, less
//! the cost of uncharged work.

use std::{collections::BTreeMap, mem};

use alloy_primitives::{Address, U256};
use rusqlite::params;
use storage::sqlite::{number, unsigned};

use super::statements::Statements;

/// The highest cap or sum. SQLite can add two of them in an integer.
const HIGHEST: u64 = 1 << 62;

/// The credit that a settlement earns: its payer and the amount, in micro-USD.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Earning {
    payer: Address,
    micro_usd: u64,
}

impl Earning {
    /// Returns what a payment of `amount` earns. The asset's smallest unit has 6 decimals.
    pub(super) fn new(payer: Address, amount: U256) -> Self {
        Self {
            payer,
            micro_usd: u64::try_from(amount).unwrap_or(u64::MAX),
        }
    }

    pub(super) fn payer(&self) -> Address {
        self.payer
    }
}

/// The table of credit, and the earnings of the open batch.
///
/// Most settlements of a batch come from few payers, so their earnings are added up in memory. Each
/// payer's sum is written once, at the end of the batch and in the batch's transaction.
#[derive(Debug)]
pub(super) struct Credit {
    cap: u64,
    /// Earnings that are not written yet, in micro-USD.
    earned: BTreeMap<Address, u64>,
}

impl Credit {
    pub(super) fn new(cap_micro_usd: u64) -> Self {
        Self {
            cap: cap_micro_usd.min(HIGHEST),
            earned: BTreeMap::new(),
        }
    }

    pub(super) fn earn(&mut self, earning: Earning) {
        if earning.micro_usd > 0 {
            let earned = self.earned.entry(earning.payer).or_default();
            *earned = earned.saturating_add(earning.micro_usd).min(HIGHEST);
        }
    }

    /// Subtracts credit from a payer, down to zero.
    pub(super) fn spend(
        &mut self,
        statements: &mut Statements<'_>,
        payer: Address,
        micro_usd: u64,
    ) -> rusqlite::Result<()> {
        self.write_earned_by(statements, payer)?;
        let sql = "UPDATE credit SET micro_usd = max(min(micro_usd, ?3) - ?2, 0) WHERE payer = ?1";
        let spent = params![payer.as_slice(), number(micro_usd), number(self.cap)];
        statements.execute(sql, spent).map(drop)
    }

    /// Returns the credit of a payer, in micro-USD.
    pub(super) fn of(
        &mut self,
        statements: &mut Statements<'_>,
        payer: Address,
    ) -> rusqlite::Result<u64> {
        let sql = "SELECT micro_usd FROM credit WHERE payer = ?1";
        // The stored credit may be above the present cap, because the cap was higher before.
        Ok(self.number_of(statements, sql, payer)?.min(self.cap))
    }

    /// Returns the sum of a payer's settled payments, in micro-USD.
    pub(super) fn paid_by(
        &mut self,
        statements: &mut Statements<'_>,
        payer: Address,
    ) -> rusqlite::Result<u64> {
        let sql = "SELECT paid FROM credit WHERE payer = ?1";
        self.number_of(statements, sql, payer)
    }

    /// Writes the earnings of a batch, at its end.
    pub(super) fn write(&mut self, statements: &mut Statements<'_>) -> rusqlite::Result<()> {
        let earned = mem::take(&mut self.earned);
        for (payer, micro_usd) in earned {
            self.add(statements, payer, micro_usd)?;
        }
        Ok(())
    }

    /// Drops the earnings of a batch, after its rollback.
    pub(super) fn forget(&mut self) {
        self.earned.clear();
    }

    fn number_of(
        &mut self,
        statements: &mut Statements<'_>,
        sql: &'static str,
        payer: Address,
    ) -> rusqlite::Result<u64> {
        self.write_earned_by(statements, payer)?;
        let sum = statements.find(sql, [payer.as_slice()], |row| unsigned(row, 0))?;
        Ok(sum.unwrap_or(0))
    }

    fn write_earned_by(
        &mut self,
        statements: &mut Statements<'_>,
        payer: Address,
    ) -> rusqlite::Result<()> {
        match self.earned.remove(&payer) {
            Some(micro_usd) => self.add(statements, payer, micro_usd),
            None => Ok(()),
        }
    }

    fn add(
        &self,
        statements: &mut Statements<'_>,
        payer: Address,
        micro_usd: u64,
    ) -> rusqlite::Result<()> {
        // Credit above the cap stays stored, because the cap may rise again. It comes from an
        // earlier, higher cap.
        let sql = "INSERT INTO credit (payer, micro_usd, paid) VALUES (?1, min(?2, ?3), ?2)
                   ON CONFLICT (payer) DO UPDATE SET
                   micro_usd = iif(micro_usd < ?3, min(micro_usd + ?2, ?3), micro_usd),
                   paid = min(paid, ?4 - ?2) + ?2";
        let earned = params![
            payer.as_slice(),
            number(micro_usd),
            number(self.cap),
            number(HIGHEST)
        ];
        statements.execute(sql, earned).map(drop)
    }
}
