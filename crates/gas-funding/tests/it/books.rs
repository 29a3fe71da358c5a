//! Tests of the promises that all books make, and of the top-ups that a file copies from its two
//! predecessors.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use alloy_primitives::{Address, U256};
use custody::Owner;
use gas_funding::{
    Book, BookError, Booked, Budget, Limits, MemoryBook, PostgresBook, Predecessors, SqliteBook,
    TopUp,
};
use rusqlite::Connection;
use test_support::postgres::Schema;

const DAY: u64 = 86_400;
/// The number of seconds in the type of database columns.
const DAY_STORED: i64 = 86_400;

const LIMITS: Limits = Limits {
    of_owner: 100,
    paid_by_owner: 150,
    of_all: 180,
    of_chain_wei: U256::MAX,
};

fn owner(byte: u8) -> Owner {
    Owner::new(196, Address::repeat_byte(byte))
}

fn account(byte: u8) -> Address {
    Address::repeat_byte(byte ^ 0xf0)
}

fn top_up(key: &str, byte: u8, at: u64, micro_usd: u64) -> TopUp {
    TopUp {
        key: key.to_owned(),
        owner: owner(byte),
        account: account(byte),
        at,
        chain_id: 8453,
        wei: U256::from(micro_usd) * U256::from(7),
        micro_usd,
    }
}

async fn refuses(book: &dyn Book, top_up: TopUp, limits: Limits) -> (Budget, u64) {
    match book.book(top_up, limits).await {
        Err(BookError::Budget { budget, given, .. }) => (budget, given.saturating_to()),
        other => panic!("{other:?}"),
    }
}

async fn keeps_its_promises(book: &dyn Book) {
    let first = top_up("fence/a/gas/0", 1, DAY, 60);
    let new = Booked {
        wei: first.wei,
        is_new: true,
    };
    assert_eq!(book.book(first.clone(), LIMITS).await, Ok(new));
    // A second booking of the key returns the first amount and counts once, even when the price has
    // changed or no budget is left.
    let again = TopUp {
        wei: U256::from(9_999),
        micro_usd: 9_999,
        ..first.clone()
    };
    let known = Booked {
        wei: first.wei,
        is_new: false,
    };
    assert_eq!(book.book(again, LIMITS).await, Ok(known));

    // A top-up for a plan reduces the room for an action, and the other way round.
    let action = |micro_usd| top_up("wallet/b/gas/8453/0", 1, DAY + 1, micro_usd);
    assert_eq!(
        refuses(book, action(41), LIMITS).await,
        (Budget::OfOwner, 60)
    );
    assert!(book.book(action(40), LIMITS).await.unwrap().is_new);
    let plan = top_up("fence/c/gas/0", 1, DAY + 2, 1);
    assert_eq!(refuses(book, plan, LIMITS).await, (Budget::OfOwner, 100));

    // Now the limit of all owners together decides.
    let other = |micro_usd| top_up("fence/d/gas/0", 2, DAY + 3, micro_usd);
    assert_eq!(refuses(book, other(81), LIMITS).await, (Budget::OfAll, 100));
    assert!(book.book(other(80), LIMITS).await.unwrap().is_new);

    // Each day has new budgets. The sum of the owner's payments bounds all days together.
    let tomorrow = |key: &str, micro_usd| top_up(key, 1, 2 * DAY, micro_usd);
    let paid = refuses(book, tomorrow("e", 51), LIMITS).await;
    assert_eq!(paid, (Budget::PaidByOwner, 100));
    assert!(book.book(tomorrow("e", 50), LIMITS).await.unwrap().is_new);
    let paid = refuses(book, top_up("f", 1, 3 * DAY, 1), LIMITS).await;
    assert_eq!(paid, (Budget::PaidByOwner, 150));
    // The owner has made another payment.
    let more = Limits {
        paid_by_owner: 151,
        ..LIMITS
    };
    assert!(
        book.book(top_up("f", 1, 3 * DAY, 1), more)
            .await
            .unwrap()
            .is_new
    );
    keeps_to_the_limit_in_wei(book).await;
}

/// A price source that says that a coin is worth nothing gives away no more of it in a day. Other
/// chains and other days have limits of their own.
async fn keeps_to_the_limit_in_wei(book: &dyn Book) {
    let day = 9 * DAY;
    let worthless = |key: &str, at, chain_id, wei: u64| TopUp {
        wei: U256::from(wei),
        chain_id,
        ..top_up(key, 5, at, 0)
    };
    let limits = Limits {
        of_chain_wei: U256::from(1_000),
        ..LIMITS
    };
    let first = worthless("wei/a", day, 10, 900);
    assert!(book.book(first, limits).await.unwrap().is_new);
    let more = worthless("wei/b", day + 1, 10, 101);
    let refused = book.book(more, limits).await.unwrap_err();
    assert_eq!(
        refused.to_string(),
        "the budget gas_topup_total_wei does not cover 101 wei: 900 of 1000 are given"
    );
    assert_eq!(refused.code(), "gas_budget_exhausted");
    for fits in [
        worthless("wei/c", day + 1, 10, 100),
        worthless("wei/d", day + 1, 42_161, 1_000),
        worthless("wei/e", day + DAY, 10, 1_000),
    ] {
        assert!(book.book(fits, limits).await.unwrap().is_new);
    }
}

fn open(path: &Path) -> SqliteBook {
    SqliteBook::open(path, &Predecessors::default()).unwrap()
}

#[tokio::test]
async fn a_file_keeps_its_promises_and_its_bookings() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("service.gas.db");
    let book = open(&path);
    keeps_its_promises(&book).await;
    // A second server gets a named error.
    let second = SqliteBook::open(&path, &Predecessors::default());
    assert_eq!(second.unwrap_err().code(), "database_in_use");
    drop(book);
    let book = open(&path);
    let known = book.book(top_up("e", 1, 2 * DAY, 9), LIMITS).await.unwrap();
    assert_eq!((known.wei, known.is_new), (U256::from(350), false));
    let paid = refuses(&book, top_up("g", 1, 4 * DAY, 1), LIMITS).await;
    assert_eq!(paid, (Budget::PaidByOwner, 151));
}

#[tokio::test]
async fn memory_keeps_the_same_promises() {
    keeps_its_promises(&MemoryBook::default()).await;
}

/// Opens handles on one database. `None` without a database; the test then passes without effect.
async fn books<const N: usize>() -> Option<(Schema, [Arc<dyn Book>; N])> {
    let schema = Schema::new()?;
    let mut books: Vec<Arc<dyn Book>> = Vec::new();
    for _ in 0..N {
        let book = PostgresBook::open(schema.connect()).await;
        books.push(Arc::new(book.unwrap()));
    }
    Some((schema, books.try_into().ok()?))
}

#[tokio::test]
async fn a_database_keeps_the_same_promises_and_its_bookings() {
    let Some((_schema, [one, two])) = books().await else {
        return;
    };
    keeps_its_promises(&*one).await;
    let known = two.book(top_up("e", 1, 2 * DAY, 9), LIMITS).await.unwrap();
    assert_eq!((known.wei, known.is_new), (U256::from(350), false));
    let paid = refuses(&*two, top_up("g", 1, 4 * DAY, 1), LIMITS).await;
    assert_eq!(paid, (Budget::PaidByOwner, 151));
}

/// A sum above the range of a column makes the book refuse later top-ups, and breaks nothing else.
#[tokio::test]
async fn sums_beyond_a_column_exhaust_a_budget() {
    let Some((_schema, [book])) = books().await else {
        return;
    };
    let boundless = Limits {
        of_owner: u64::MAX,
        paid_by_owner: u64::MAX,
        of_all: u64::MAX,
        of_chain_wei: U256::MAX,
    };
    for key in ["a", "b"] {
        let most = TopUp {
            wei: U256::MAX,
            ..top_up(key, 1, DAY, u64::MAX / 2)
        };
        assert!(book.book(most.clone(), boundless).await.unwrap().is_new);
        assert_eq!(book.book(most, boundless).await.unwrap().wei, U256::MAX);
    }
    let given = refuses(&*book, top_up("c", 1, DAY, 1), LIMITS).await;
    assert_eq!(given, (Budget::OfOwner, u64::MAX / 2));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn keys_that_race_share_the_budgets_of_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let book: Arc<dyn Book> = Arc::new(open(&folder.path().join("gas.db")));
    race(&[Arc::clone(&book), book]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn keys_that_race_share_the_budgets_of_a_database() {
    if let Some((_schema, books)) = books::<2>().await {
        race(&books).await;
    }
}

/// Many callers book at once. The sum never exceeds the budget, and each key counts once.
async fn race(books: &[Arc<dyn Book>; 2]) {
    let mut racing = Vec::new();
    for number in 0..40_u32 {
        // Two processes book, each half of the keys.
        let book = Arc::clone(&books[usize::from(number % 2 == 0)]);
        // Each of twenty keys is booked twice.
        let top_up = top_up(&format!("key/{}", number / 2), 1, DAY, 30);
        racing.push(tokio::spawn(async move { book.book(top_up, LIMITS).await }));
    }
    let (mut new, mut known, mut refused) = (0, 0, 0);
    for race in racing {
        match race.await.unwrap() {
            Ok(Booked { is_new: true, .. }) => new += 1,
            Ok(_) => known += 1,
            Err(_) => refused += 1,
        }
    }
    // The budget of 100 covers three top-ups of 30.
    assert_eq!((new, known, refused), (3, 3, 34));
}

/// Makes the files with the tables of the earlier versions.
fn predecessors(folder: &Path) -> Predecessors {
    let fence = folder.join("service.fence.db");
    let wallets = folder.join("service.wallets.db");
    let database = Connection::open(&fence).unwrap();
    database
        .execute_batch(
            "PRAGMA journal_mode = WAL;
             CREATE TABLE top_up (key TEXT PRIMARY KEY, account TEXT NOT NULL, at INTEGER NOT NULL, \
             micro_usd INTEGER NOT NULL) STRICT, WITHOUT ROWID;",
        )
        .unwrap();
    let row = ("fence/a/gas/0", account(1).to_string(), DAY_STORED, 30);
    database
        .execute("INSERT INTO top_up VALUES (?1, ?2, ?3, ?4)", row)
        .unwrap();
    let database = Connection::open(&wallets).unwrap();
    database
        .execute_batch(
            "CREATE TABLE top_up (key TEXT PRIMARY KEY, owner TEXT NOT NULL, at INTEGER NOT NULL, \
             micro_usd INTEGER NOT NULL) STRICT;",
        )
        .unwrap();
    for (key, at, micro_usd) in [
        ("wallet/b/gas/8453/0", DAY_STORED, 40),
        ("wallet/c/gas/196/0", 5, 20),
    ] {
        let row = (key, owner(1).to_string(), at, micro_usd);
        database
            .execute("INSERT INTO top_up VALUES (?1, ?2, ?3, ?4)", row)
            .unwrap();
    }
    Predecessors {
        fence: Some(fence),
        wallets: Some(wallets),
    }
}

#[tokio::test]
async fn earlier_bookings_count() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("service.gas.db");
    let before = predecessors(folder.path());
    // The copy runs twice, and each row counts once.
    for _ in 0..2 {
        let book = SqliteBook::open(&path, &before).unwrap();
        let today = refuses(&book, top_up("g", 1, DAY + 9, 31), LIMITS).await;
        assert_eq!(today, (Budget::OfOwner, 70));
        let all = refuses(
            &book,
            top_up("g", 2, DAY + 9, 111),
            Limits {
                of_owner: 999,
                ..LIMITS
            },
        );
        assert_eq!(all.await, (Budget::OfAll, 70));
        // The owner got 90 of the 150 that it has paid.
        let ever = refuses(&book, top_up("g", 1, 2 * DAY, 61), LIMITS).await;
        assert_eq!(ever, (Budget::PaidByOwner, 90));
        // The earlier versions did not store the amount of a key, so the amount of the request
        // counts.
        let known = top_up("fence/a/gas/0", 1, DAY, 5);
        let booked = book.book(known.clone(), LIMITS).await.unwrap();
        assert_eq!((booked.wei, booked.is_new), (known.wei, false));
    }
    // A server of the earlier version ran in between.
    let database = Connection::open(before.wallets.as_ref().unwrap()).unwrap();
    let row = ("wallet/d/gas/196/0", owner(1).to_string(), DAY_STORED, 5);
    database
        .execute("INSERT INTO top_up VALUES (?1, ?2, ?3, ?4)", row)
        .unwrap();
    let book = SqliteBook::open(&path, &before).unwrap();
    let today = refuses(&book, top_up("g", 1, DAY + 9, 31), LIMITS).await;
    assert_eq!(today, (Budget::OfOwner, 75));
}

#[test]
fn missing_predecessors_count_as_empty() {
    let folder = tempfile::tempdir().unwrap();
    let missing = |name: &str| -> Option<PathBuf> { Some(folder.path().join(name)) };
    let before = Predecessors {
        fence: missing("nothing.fence.db"),
        wallets: missing("nothing.wallets.db"),
    };
    SqliteBook::open(&folder.path().join("gas.db"), &before).unwrap();
    assert!(!folder.path().join("nothing.fence.db").exists());
    // A file that is not a database ends the start.
    std::fs::write(folder.path().join("nothing.fence.db"), [0xa5; 8192]).unwrap();
    let refused = SqliteBook::open(&folder.path().join("gas.db"), &before);
    assert_eq!(refused.unwrap_err().code(), "database_damaged");
}
