//! One node of a chain, and how well it answers.

use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::{Head, Node, NodeFault};

/// For how long a node that did not answer comes last.
const REST: Duration = Duration::from_secs(10);

/// The bounds of the time after which a question is asked again. The time is four times the
/// duration of the last answer. Each answer that takes longer doubles it.
const PATIENCE: std::ops::RangeInclusive<Duration> =
    Duration::from_millis(500)..=Duration::from_secs(10);

/// A node of a chain, and its health.
pub(super) struct Member {
    pub(super) node: Arc<dyn Node>,
    confirmed: AtomicBool,
    health: Mutex<Health>,
}

#[derive(Debug, Clone, Copy)]
struct Health {
    rests_until: Option<Instant>,
    patience: Duration,
}

impl Member {
    pub(super) fn new(node: Arc<dyn Node>) -> Self {
        Self {
            node,
            confirmed: AtomicBool::new(false),
            health: Mutex::new(Health {
                rests_until: None,
                patience: *PATIENCE.start(),
            }),
        }
    }

    fn health(&self) -> MutexGuard<'_, Health> {
        self.health.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn rests(&self) -> bool {
        let until = self.health().rests_until;
        until.is_some_and(|until| Instant::now() < until)
    }

    /// Waits for an answer. When the node has not answered in its usual time, the question is asked
    /// once more beside the first one. So one lost answer does not cost the whole time limit of the
    /// transport, and a slow node is still heard.
    pub(super) async fn wait<T, F>(&self, ask: impl Fn() -> F) -> Result<T, NodeFault>
    where
        F: Future<Output = Result<T, NodeFault>>,
    {
        let (began, patience) = (Instant::now(), self.health().patience);
        let mut first = pin!(ask());
        let answer = match tokio::time::timeout(patience, &mut first).await {
            Ok(answer) => {
                let took = began.elapsed().saturating_mul(4);
                self.health().patience = took.clamp(*PATIENCE.start(), *PATIENCE.end());
                answer
            }
            Err(_) => {
                let longer = patience.saturating_mul(2).min(*PATIENCE.end());
                self.health().patience = longer;
                either(first, pin!(ask())).await
            }
        };
        self.note(answer)
    }

    /// Puts the node last for a while.
    pub(super) fn rest(&self) {
        self.health().rests_until = Some(Instant::now() + REST);
    }

    /// Records whether the node answered. A refusal is an answer, and changes nothing.
    pub(super) fn note<T>(&self, answer: Result<T, NodeFault>) -> Result<T, NodeFault> {
        self.health().rests_until = match &answer {
            Err(NodeFault::Refused { .. }) => return answer,
            Err(_) => Some(Instant::now() + REST),
            Ok(_) => None,
        };
        answer
    }

    /// Whether the node has reported that it serves the chain.
    pub(super) fn is_confirmed(&self) -> bool {
        self.confirmed.load(Ordering::Relaxed)
    }

    pub(super) async fn head(&self, chain_id: u64) -> Result<Head, NodeFault> {
        if !self.is_confirmed() {
            let observed = self.node.chain_id().await?;
            if observed != chain_id {
                return Err(NodeFault::OtherChain {
                    expected: chain_id,
                    observed,
                });
            }
            self.confirmed.store(true, Ordering::Relaxed);
        }
        self.node.head().await
    }
}

/// Returns the first answer of the two. Returns a failure only when both fail.
async fn either<T, F>(mut first: Pin<&mut F>, mut second: Pin<&mut F>) -> Result<T, NodeFault>
where
    F: Future<Output = Result<T, NodeFault>>,
{
    let (answer, other) = tokio::select! {
        answer = &mut first => (answer, second),
        answer = &mut second => (answer, first),
    };
    match answer {
        Ok(_) | Err(NodeFault::Refused { .. }) => answer,
        Err(_) => other.await,
    }
}
