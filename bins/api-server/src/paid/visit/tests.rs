//! What ends a call that has begun: slow work, a window that closes meanwhile, a settler that never returns. Time is the test's.

use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};

use data_sources::Clock;
use jiff::Timestamp;
use ledger::{Options, RequestBinding, Reservation, SqliteLedger, Standing};
use settlement::{Readiness, Reconciliation};

use super::*;
use crate::paid::{PaymentPolicy, claim};

const NOW: i64 = 1_795_200_000;

struct Hand(AtomicI64);

impl Clock for Hand {
    fn now(&self) -> Timestamp {
        Timestamp::from_second(self.0.load(Ordering::SeqCst)).unwrap()
    }
}

/// Takes every payment, or never says whether it does.
struct Settles {
    ever: bool,
    asked: Arc<AtomicUsize>,
}

impl Settler for Settles {
    async fn verify(&self, _payment: &Payment, _now: u64) -> Verification {
        Verification::Valid
    }

    async fn settle(&self, payment: &Payment) -> Settlement {
        self.asked.fetch_add(1, Ordering::SeqCst);
        if !self.ever {
            return pending().await;
        }
        Settlement::Settled(Receipt::of(payment, "0xab"))
    }

    async fn reconcile(
        &self,
        _payment: &Payment,
        _transaction: Option<&str>,
        _now: u64,
    ) -> Reconciliation {
        pending().await
    }

    async fn readiness(&self) -> Readiness {
        pending().await
    }
}

struct World {
    till: Till<Settles, SqliteLedger>,
    clock: Arc<Hand>,
    asked: Arc<AtomicUsize>,
    payment: Payment,
    _folder: tempfile::TempDir,
}

impl World {
    fn new(ever: bool) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ledger.db");
        let journal = SqliteLedger::open(path.to_str().unwrap(), Options::default()).unwrap();
        let (clock, asked) = (Arc::new(Hand(NOW.into())), Arc::default());
        let policy = PaymentPolicy {
            settle_budget_seconds: 40,
            settle_guard: Duration::from_secs(60),
        };
        let settler = Settles {
            ever,
            asked: Arc::clone(&asked),
        };
        Self {
            till: Till::new(settler, journal, policy, clock.clone()),
            clock,
            asked,
            payment: payment(),
            _folder: folder,
        }
    }

    async fn reserve(&self) -> Reservation {
        let request = RequestBinding::new("GET", "/price", None, b"");
        let claim = claim(&self.payment, request, self.till.now());
        self.till.journal().reserve(claim).await.unwrap()
    }

    async fn visit(
        &self,
        answer: impl Future<Output = Result<Answer, ErrorReply>> + Send + 'static,
    ) -> Outcome {
        let Reservation::Reserved(entry) = self.reserve().await else {
            panic!("taken")
        };
        let work = Work {
            budget_seconds: 10,
            answer: Box::pin(answer),
        };
        run(&self.till, entry, self.payment.clone(), work).await
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }
}

/// Good until 100 seconds from now.
fn payment() -> Payment {
    const REQUIREMENTS: &str = r#"{"scheme":"exact","network":"eip155:196","amount":"2000",
        "asset":"0x0101010101010101010101010101010101010101",
        "payTo":"0x0101010101010101010101010101010101010101",
        "maxTimeoutSeconds":300,"extra":{"name":"USD Coin","version":"2"}}"#;
    let payload = format!(
        r#"{{"x402Version":2,"accepted":{REQUIREMENTS},"payload":{{"signature":"0x","authorization":{{
            "from":"0x0202020202020202020202020202020202020202",
            "to":"0x0101010101010101010101010101010101010101",
            "value":"2000","validAfter":"0","validBefore":"{}","nonce":"0x{}"}}}}}}"#,
        NOW + 100,
        "03".repeat(32)
    );
    Payment::restore(payload.as_bytes(), REQUIREMENTS.as_bytes()).unwrap()
}

fn answer() -> Answer {
    Answer::new(200, Vec::new(), "{}".into())
}

#[tokio::test(start_paused = true)]
async fn work_that_takes_too_long_is_not_charged() {
    let world = World::new(true);
    let outcome = world.visit(pending()).await;
    let Outcome::Refused(error) = outcome else {
        panic!("{}", outcome.name())
    };
    assert_eq!(error.code(), ErrorCode::UpstreamUnavailable);
    assert!(format!("{error:?}").contains("timed_out"), "{error:?}");
    assert_eq!(world.asked(), 0);
    assert!(matches!(world.reserve().await, Reservation::Reserved(_)));
}

#[tokio::test(start_paused = true)]
async fn a_window_that_closes_during_the_work_is_not_settled_into() {
    for (seconds, settled) in [(60, true), (61, false)] {
        let world = World::new(true);
        let clock = world.clock.clone();
        let outcome = world.visit(async move {
            clock.0.fetch_add(seconds, Ordering::SeqCst);
            Ok(answer())
        });
        match outcome.await {
            Outcome::Served { again: false, .. } => assert!(settled),
            Outcome::Declined(declined) => {
                assert!(!settled);
                let late = Reason::InvalidExactEvmPayloadAuthorizationValidBefore;
                assert_eq!(declined.reason, late);
                assert!(matches!(world.reserve().await, Reservation::Reserved(_)));
            }
            other => panic!("{}", other.name()),
        }
        assert_eq!(world.asked(), usize::from(settled));
    }
}

#[tokio::test(start_paused = true)]
async fn a_settler_that_never_returns_leaves_the_outcome_unknown() {
    let world = World::new(false);
    let outcome = world.visit(async { Ok(answer()) }).await;
    let Outcome::Refused(error) = outcome else {
        panic!("{}", outcome.name())
    };
    assert_eq!(error.code(), ErrorCode::SettlementPending);
    assert_eq!(world.asked(), 1);
    let standing = world.reserve().await;
    assert!(
        matches!(standing, Reservation::Standing(Standing::Unknown { .. })),
        "{standing:?}"
    );
}
