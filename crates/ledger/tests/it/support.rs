//! A ledger for tests in a temporary folder, and payments for it.

use std::{ops::Deref, path::PathBuf, time::Duration};

use alloy_primitives::{Address, B256, U256};
use ledger::{
    Allowance, AnyLedger, Claim, EntryId, Journal, LedgerError, Options, PaidAnswer, PaymentRecord,
    PaymentStatus, PendingSettlement, PostgresLedger, Pruned, Purchase, RequestBinding,
    Reservation, Spent, SqliteLedger, State, StoredAnswer, StoredReceipt,
};
use storage::postgres::{self, Postgres, PostgresOptions};
use tempfile::TempDir;
use test_support::postgres::Schema;
use test_support::wait;
use x402_wire::{AuthorizationKey, Network, Payment};

pub(crate) const NOW: u64 = 1_790_000_000;
pub(crate) const RETENTION: u64 = 1_000;
pub(crate) const PRIVATE_RETENTION: u64 = 400;
pub(crate) const ENTRY_RETENTION: u64 = 4 * RETENTION;
pub(crate) const AGAIN: u64 = 100;
/// The credit that two and a half payments of [`claim`] earn.
pub(crate) const CREDIT_CAP: u64 = 5_000;
pub(crate) const OPTIONS: Options = Options {
    max_bytes: None,
    retention_seconds: RETENTION,
    private_retention_seconds: PRIVATE_RETENTION,
    entry_retention_seconds: ENTRY_RETENTION,
    again_seconds: AGAIN,
    credit_cap_micro_usd: CREDIT_CAP,
    pool: Allowance {
        capacity: 1_000,
        per_second: 10,
    },
    address_share: Allowance {
        capacity: 200,
        per_second: 2,
    },
};

/// Longer than any test. Tests of leases set short ones.
const LEASE: Duration = Duration::from_secs(600);

/// A ledger that can be closed and opened again. It is in the suite's database if there is one,
/// except in tests of SQLite's files.
pub(crate) struct Bench {
    pub(crate) folder: TempDir,
    url: String,
    ledger: Option<AnyLedger>,
    _schema: Option<Schema>,
}

impl Bench {
    pub(crate) fn new() -> Self {
        Self::with(OPTIONS)
    }

    pub(crate) fn with(options: Options) -> Self {
        match Schema::new() {
            Some(schema) => {
                let url = schema.url().to_owned();
                Self::open(tempfile::tempdir().unwrap(), url, Some(schema), options)
            }
            None => Self::in_file(options),
        }
    }

    /// Makes a ledger in a SQLite file, whichever store the suite uses.
    pub(crate) fn in_file(options: Options) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let url = folder.path().join("service.db").display().to_string();
        Self::open(folder, url, None, options)
    }

    fn open(folder: TempDir, url: String, schema: Option<Schema>, options: Options) -> Self {
        let mut bench = Self {
            folder,
            url,
            ledger: None,
            _schema: schema,
        };
        bench.reopen_with(options);
        bench
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().join("service.db")
    }

    /// The ledger in a database, if the suite has one.
    pub(crate) fn postgres(&self) -> Option<&PostgresLedger> {
        match self.ledger.as_ref().unwrap() {
            AnyLedger::Sqlite(_) => None,
            AnyLedger::Postgres(ledger) => Some(ledger),
        }
    }

    pub(crate) fn sqlite(&self) -> &SqliteLedger {
        match self.ledger.as_ref().unwrap() {
            AnyLedger::Sqlite(ledger) => ledger,
            AnyLedger::Postgres(_) => panic!("the ledger is in no file"),
        }
    }

    /// Returns how a state reads after a restart: marks that are not stored are gone.
    pub(crate) fn reopened(&self, state: State) -> State {
        match (state, self.ledger.as_ref().unwrap()) {
            (State::Working, AnyLedger::Postgres(_)) => State::Reserved,
            _ => state,
        }
    }

    pub(crate) fn reopen(&mut self) {
        self.reopen_with(OPTIONS);
    }

    /// Closes the ledger for good. Its files stay as long as the returned folder.
    pub(crate) fn close(mut self) -> TempDir {
        self.give_back();
        self.folder
    }

    /// Closes the ledger, lets `change` edit its file, and opens it again.
    pub(crate) fn change(&mut self, change: impl FnOnce(&rusqlite::Connection)) {
        self.give_back();
        change(&rusqlite::Connection::open(self.path()).unwrap());
        self.reopen();
    }

    pub(crate) fn reopen_with(&mut self, options: Options) {
        self.give_back();
        let database = postgres::Address::is_postgres(&self.url).then(|| connect(&self.url));
        let opened = AnyLedger::open(&self.url, database.as_ref(), options, LEASE);
        self.ledger = Some(wait(opened).unwrap());
    }

    fn give_back(&mut self) {
        if let Some(ledger) = self.ledger.take() {
            wait(ledger.close()).unwrap();
        }
    }
}

fn connect(url: &str) -> Postgres {
    Postgres::new(url.parse().unwrap(), PostgresOptions::default()).unwrap()
}

impl Deref for Bench {
    type Target = AnyLedger;

    fn deref(&self) -> &AnyLedger {
        self.ledger.as_ref().unwrap()
    }
}

pub(crate) fn key(nonce: u64) -> AuthorizationKey {
    AuthorizationKey {
        network: Network::evm(196),
        asset: Address::repeat_byte(0xaa),
        payer: Address::repeat_byte(0xbb),
        nonce: U256::from(nonce).into(),
    }
}

pub(crate) fn request(n: u64) -> RequestBinding {
    RequestBinding::new("GET", "/price", Some(&format!("token={n}")), b"")
}

/// A claim of authorization `nonce` for request 0, valid for 300 seconds from [`NOW`].
pub(crate) fn claim(nonce: u64) -> Claim {
    Claim {
        key: key(nonce),
        request: request(0),
        payment_id: None,
        amount: U256::from(2_000),
        valid_before: NOW + 300,
        purchase: Purchase::Unproven,
        now: NOW,
    }
}

/// The payment of authorization `nonce`, with an unknown member that has the text `note`.
pub(crate) fn payment(nonce: u64, note: &str) -> Payment {
    let AuthorizationKey {
        asset,
        payer,
        nonce,
        ..
    } = key(nonce);
    let requirements = format!(
        r#"{{"scheme":"exact","network":"eip155:196","amount":"2000","asset":"{asset}",
            "payTo":"{payer}","maxTimeoutSeconds":300,"extra":{{"name":"USD₮0","version":"1"}}}}"#
    );
    let payload = format!(
        r#"{{"x402Version":2,"note":"{note}","accepted":{requirements},"payload":{{"signature":"0x",
            "authorization":{{"from":"{payer}","to":"{payer}","value":"2000","validAfter":"0",
            "validBefore":"1790000300","nonce":"{nonce}"}}}}}}"#
    );
    Payment::restore(payload.as_bytes(), requirements.as_bytes()).unwrap()
}

pub(crate) fn settlement(nonce: u64) -> PendingSettlement {
    PendingSettlement {
        payment: payment(nonce, "₮"),
        answer: PaidAnswer::new(
            200,
            vec![("content-type".into(), "application/json".to_owned())],
            format!(r#"{{"data":{nonce}}}"#).into(),
        ),
        private: false,
    }
}

pub(crate) fn receipt(nonce: u64) -> StoredReceipt {
    StoredReceipt {
        header: format!("receipt-{nonce}"),
        transaction: B256::from(U256::from(nonce)).to_string(),
    }
}

/// The stored answer of authorization `nonce`, as [`find`] and [`refused`] return it: without the
/// number of its entry.
pub(crate) fn stored(nonce: u64, settled_at: u64) -> StoredAnswer {
    StoredAnswer {
        answer: settlement(nonce).answer,
        receipt: receipt(nonce),
        settled_at,
        entry: EntryId::new(0),
        is_repetition: false,
    }
}

pub(crate) async fn reserved(ledger: &AnyLedger, claim: Claim) -> EntryId {
    match ledger.reserve(claim).await.unwrap() {
        Reservation::Reserved(entry) => entry,
        other => panic!("not reserved: {other:?}"),
    }
}

pub(crate) async fn refused(ledger: &AnyLedger, claim: Claim) -> PaymentStatus {
    match ledger.reserve(claim).await.unwrap() {
        Reservation::Known(status) => without_entry(status),
        other => panic!("reserved: {other:?}"),
    }
}

/// Brings authorization `nonce` into a state by the shortest way, at [`NOW`].
pub(crate) async fn bring(ledger: &AnyLedger, nonce: u64, state: State) -> EntryId {
    let entry = reserved(ledger, claim(nonce)).await;
    let settling = || async {
        ledger
            .begin_settlement(entry, settlement(nonce), NOW)
            .await
            .unwrap();
    };
    match state {
        State::Reserved => {}
        State::Working => ledger.start_work(entry),
        State::Settling => settling().await,
        State::Unknown => {
            settling().await;
            ledger
                .mark_unknown(entry, None, "timeout", NOW)
                .await
                .unwrap();
        }
        State::Settled => {
            settling().await;
            ledger
                .settle(entry, key(nonce), receipt(nonce), NOW)
                .await
                .unwrap();
        }
        State::Released => ledger
            .release(entry, "refused", Spent::NOTHING, NOW)
            .await
            .unwrap(),
        State::Undecidable => {
            settling().await;
            ledger
                .mark_unknown(entry, None, "timeout", NOW)
                .await
                .unwrap();
            ledger
                .mark_undecidable(entry, "nobody knows", NOW)
                .await
                .unwrap();
        }
    }
    entry
}

/// Makes one paid call, from the claim to the receipt.
pub(crate) async fn pay(ledger: &AnyLedger, nonce: u64, now: u64) -> Result<EntryId, LedgerError> {
    let claim = Claim {
        now,
        valid_before: now + 300,
        ..claim(nonce)
    };
    let Reservation::Reserved(entry) = ledger.reserve(claim).await? else {
        panic!("authorization {nonce} is taken")
    };
    ledger.start_work(entry);
    ledger
        .begin_settlement(entry, settlement(nonce), now)
        .await?;
    ledger
        .settle(entry, key(nonce), receipt(nonce), now)
        .await?;
    Ok(entry)
}

pub(crate) async fn look_up(ledger: &AnyLedger, nonce: u64) -> Option<PaymentRecord> {
    ledger.look_up(&key(nonce)).await.unwrap()
}

/// Returns the credit of the payer of these payments.
pub(crate) async fn credit(ledger: &AnyLedger) -> u64 {
    ledger.credit(key(0).payer).await.unwrap()
}

/// Returns the sum of the payer of these payments.
pub(crate) async fn paid(ledger: &AnyLedger) -> u64 {
    ledger.paid(key(0).payer).await.unwrap()
}

/// Prunes until this run has nothing more to do.
pub(crate) async fn prune_all(ledger: &AnyLedger, now: u64) -> Pruned {
    let mut total = Pruned::default();
    loop {
        let pruned = ledger.prune(now).await.unwrap();
        total.entries += pruned.entries;
        total.answers += pruned.answers;
        if !pruned.more {
            return total;
        }
    }
}

pub(crate) async fn find(ledger: &AnyLedger, nonce: u64, now: u64) -> Option<PaymentStatus> {
    let found = ledger.find(&key(nonce), &request(0), now).await.unwrap();
    found.map(without_entry)
}

/// Leaves the number of the entry out of an answer, because each store counts in its own way.
fn without_entry(status: PaymentStatus) -> PaymentStatus {
    match status {
        PaymentStatus::Answered(stored) => PaymentStatus::Answered(StoredAnswer {
            entry: EntryId::new(0),
            ..stored
        }),
        status => status,
    }
}
