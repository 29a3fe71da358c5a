//! One node among those of a chain, and how well it answers.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::{Head, Node, NodeFault};

/// How long a node that did not answer is asked last.
const REST: Duration = Duration::from_secs(10);

/// How long an answer is waited for at least, and at most. Between the two it is four times what the last one took, and twice as long
/// after each that did not come: a question that is lost holds nobody up for long, and a node that is slow is still heard.
const PATIENCE: std::ops::RangeInclusive<Duration> =
    Duration::from_millis(500)..=Duration::from_secs(10);

/// A node of a chain.
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

    /// Waits for an answer, as long as this node's answers take.
    pub(super) async fn wait<T>(
        &self,
        method: &'static str,
        answer: impl Future<Output = Result<T, NodeFault>>,
    ) -> Result<T, NodeFault> {
        let (began, patience) = (Instant::now(), self.health().patience);
        let (least, most) = (*PATIENCE.start(), *PATIENCE.end());
        let next = match tokio::time::timeout(patience, answer).await {
            Ok(answer) => {
                let took = began.elapsed().saturating_mul(4);
                self.health().patience = took.clamp(least, most);
                return self.note(answer);
            }
            Err(_) => patience.saturating_mul(2).min(most),
        };
        self.health().patience = next;
        self.note(Err(NodeFault::Lost { method }))
    }

    /// Notes a failure that is the node's own, and no answer.
    pub(super) fn note<T>(&self, answer: Result<T, NodeFault>) -> Result<T, NodeFault> {
        self.health().rests_until = match &answer {
            Err(NodeFault::Refused { .. }) => return answer,
            Err(_) => Some(Instant::now() + REST),
            Ok(_) => None,
        };
        answer
    }

    pub(super) async fn head(&self, chain_id: u64) -> Result<Head, NodeFault> {
        if !self.confirmed.load(Ordering::Relaxed) {
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
