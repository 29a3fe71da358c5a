//! A store of intents as a process sees it that ends at one of its effects, and a node over an
//! embedded chain.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use alloy_primitives::{Address, B256};
use dev_chain::{DevChain, Reply};
use test_support::Fuse;
use tx_sender::{NodeFault, Transport};
use wallet_actions::{Condition, Forbidden, Intent, IntentId, Place, Store, StoreFuture};

use crate::memory::Memory;

/// A store of intents for one process. It stops to answer when the process's fuse blows.
pub(crate) struct MortalIntents {
    pub(crate) store: Arc<Memory>,
    pub(crate) fuse: Arc<Fuse>,
}

impl Store for MortalIntents {
    fn insert(&self, intent: Intent, claim: Option<Condition>) -> StoreFuture<'_, Intent> {
        Box::pin(async move {
            let insert = async { self.store.insert(intent, claim).await };
            self.fuse.guard(insert).await
        })
    }

    fn get(&self, id: &IntentId) -> StoreFuture<'_, Option<Intent>> {
        let id = id.clone();
        Box::pin(async move {
            self.fuse.alive().await;
            self.store.get(&id).await
        })
    }

    fn of_payment(&self, payment: B256) -> StoreFuture<'_, Option<Intent>> {
        self.store.of_payment(payment)
    }

    fn forbid(&self, payment: B256, reason: &str, at: u64) -> StoreFuture<'_, Forbidden> {
        let reason = reason.to_owned();
        Box::pin(async move {
            let forbid = async { self.store.forbid(payment, &reason, at).await };
            self.fuse.guard(forbid).await
        })
    }

    fn forbidden(&self, payment: B256) -> StoreFuture<'_, Option<String>> {
        self.store.forbidden(payment)
    }

    fn write(&self, intent: Intent) -> StoreFuture<'_, Intent> {
        Box::pin(async move {
            let write = async { self.store.write(intent).await };
            self.fuse.guard(write).await
        })
    }

    fn open(&self) -> StoreFuture<'_, Vec<IntentId>> {
        Box::pin(async move {
            self.fuse.alive().await;
            self.store.open().await
        })
    }

    fn unsettled(&self) -> StoreFuture<'_, Vec<IntentId>> {
        Box::pin(async move {
            self.fuse.alive().await;
            self.store.unsettled().await
        })
    }

    fn awaiting_charge(&self, after: Place, most: u32) -> StoreFuture<'_, Vec<Place>> {
        self.store.awaiting_charge(after, most)
    }

    fn forget(&self, before: u64, most: u32) -> StoreFuture<'_, ()> {
        self.store.forget(before, most)
    }

    fn of_owner(&self, owner: &str, created_at: u64, most: u32) -> StoreFuture<'_, Vec<Intent>> {
        self.store.of_owner(owner, created_at, most)
    }

    fn uncharged(
        &self,
        owner: &str,
        purchase: B256,
        created_at: u64,
    ) -> StoreFuture<'_, Option<IntentId>> {
        self.store.uncharged(owner, purchase, created_at)
    }

    fn is_busy(&self, wallet: Address) -> StoreFuture<'_, Option<IntentId>> {
        self.store.is_busy(wallet)
    }
}

/// How long the node takes for an answer.
const LATENCY: Duration = Duration::from_millis(2);

/// A node over a chain in this process. It is unreachable while `up` is false.
pub(crate) struct InProcess {
    pub(crate) chain: DevChain,
    pub(crate) up: Arc<AtomicBool>,
}

impl Transport for InProcess {
    fn exchange(
        &self,
        method: &'static str,
        body: Vec<u8>,
    ) -> Pin<Box<dyn Future<Output = Result<Vec<u8>, NodeFault>> + Send + '_>> {
        Box::pin(async move {
            tokio::time::sleep(LATENCY).await;
            if !self.up.load(Ordering::SeqCst) {
                return Err(NodeFault::Unreachable);
            }
            match self.chain.answer(&body) {
                Reply::Http { body, .. } => Ok(body),
                _ => Err(NodeFault::Lost { method }),
            }
        })
    }
}

/// Makes the digest of a test's payment.
pub(crate) fn payment(number: u8) -> B256 {
    B256::repeat_byte(number)
}
