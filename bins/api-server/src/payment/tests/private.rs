//! Tests of answers about the payer's own wallet: only a call with the payment identifier gets them
//! again, and only for a limited time.

use route_catalog::Operation;
use settlement::Settlement;
use x402_wire::PaymentPayload;

use super::payer::{Order, Payer};
use super::script::{Script, Settles, unreachable};
use super::stage::{Stage, refused, served};
use crate::payment::Refusal;

const OWN: Operation = Operation::SubWallet;

/// The same signed authorization with different identifiers.
fn identified(stage: &Stage, ids: [Option<&str>; 3]) -> [PaymentPayload; 3] {
    let order = stage.order_of(OWN);
    ids.map(|id| {
        Payer::new(1).sign(&Order {
            payment_id: id.map(str::to_owned),
            ..order.clone()
        })
    })
}

fn is_private(refusal: &Refusal) -> bool {
    matches!(refusal, Refusal::AnswerPrivate { transaction, .. } if !transaction.is_empty())
}

#[tokio::test(start_paused = true)]
async fn an_answer_is_given_again_with_its_identifier_within_an_hour() {
    let stage = Stage::new();
    let ids = [
        Some("a-random-identifier"),
        Some("another-identifier"),
        None,
    ];
    let [first, other, rebuilt] = identified(&stage, ids);
    let answer = served(stage.buy_of(OWN, None, &first).await);
    for seconds in [0, 3_599] {
        stage.script.pass(seconds);
        let again = served(stage.buy_of(OWN, None, &first).await);
        assert!(again.again);
        assert_eq!(again.stored.answer, answer.stored.answer);
        for stranger in [&other, &rebuilt] {
            let refusal = refused(stage.buy_of(OWN, None, stranger).await);
            assert!(is_private(&refusal), "{refusal:?}");
        }
    }
    stage.script.pass(1);
    for payment in [&first, &other, &rebuilt] {
        let refusal = refused(stage.buy_of(OWN, None, payment).await);
        assert!(is_private(&refusal), "{refusal:?}");
    }
    assert_eq!(stage.script.asked("work"), 1);
}

#[tokio::test(start_paused = true)]
async fn an_answer_without_an_identifier_is_given_once() {
    let stage = Stage::new();
    let ids = [None, Some("an-identifier-since"), None];
    let [first, since, rebuilt] = identified(&stage, ids);
    assert!(!served(stage.buy_of(OWN, None, &first).await).again);
    for payment in [&first, &since, &rebuilt] {
        let refusal = refused(stage.buy_of(OWN, None, payment).await);
        assert!(is_private(&refusal), "{refusal:?}");
    }
}

/// A settlement that is found later gives its answer to the payer, and not to those who saw it on
/// the chain.
#[tokio::test(start_paused = true)]
async fn an_answer_that_was_unknown_is_as_private() {
    let stage = Stage::new();
    let unknown = Settlement::Unknown {
        transaction: None,
        cause: unreachable(),
    };
    Script::set(&stage.script.settles, Settles::As(unknown));
    let ids = [
        Some("a-random-identifier"),
        Some("another-identifier"),
        None,
    ];
    let [first, other, rebuilt] = identified(&stage, ids);
    let pending = refused(stage.buy_of(OWN, None, &first).await);
    assert!(matches!(pending, Refusal::Pending(_)), "{pending:?}");
    for stranger in [&other, &rebuilt] {
        let refusal = refused(stage.buy_of(OWN, None, stranger).await);
        assert!(
            matches!(refusal, Refusal::BoundElsewhere { .. }),
            "{refusal:?}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_about_a_named_account_is_not_private() {
    let (stage, payer) = (Stage::new(), Payer::new(1));
    let operation = Operation::Portfolio;
    let account = Some("address=0x1f9840a85d5aF5bf1D1762F925BDADdC4201F984");
    for (query, is_public) in [(account, true), (None, false)] {
        let payment = payer.sign(&Order {
            payment_id: None,
            ..stage.order_of(operation)
        });
        assert!(!served(stage.buy_of(operation, query, &payment).await).again);
        let ended = stage.buy_of(operation, query, &payment).await;
        match is_public {
            true => assert!(served(ended).again),
            false => assert!(is_private(&refused(ended))),
        }
    }
}
