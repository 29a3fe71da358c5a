//! Watches intents that have ended, until no reorganisation can change their result.

use std::sync::Arc;

use super::Fault;
use crate::intent::Intent;
use crate::{IntentId, Shared, StoreError};

/// Checks the intents that have ended and are not final, again and again. It keeps no state between
/// two rounds: the store lists these intents, even after a restart.
pub(crate) async fn check_ended(shared: Arc<Shared>) {
    loop {
        match shared.store.unsettled().await {
            Ok(unsettled) => {
                for id in unsettled {
                    match shared.check_end(&id).await {
                        // Another task has written the intent meanwhile.
                        Ok(()) | Err(Fault::Store(StoreError::Conflict { .. })) => {}
                        Err(fault) => {
                            tracing::warn!(intent = %id, %fault, "the transactions of an ended action cannot be checked");
                        }
                    }
                }
            }
            Err(error) => {
                tracing::warn!(code = error.code(), "ended actions cannot be listed");
            }
        }
        tokio::time::sleep(shared.pace.sweep).await;
    }
}

impl Shared {
    async fn check_end(&self, id: &IntentId) -> Result<(), Fault> {
        let intent = self.store.get(id).await?;
        let Some(intent) = intent.filter(|intent| intent.state.is_over() && !intent.is_final)
        else {
            return Ok(());
        };
        match self.lost_steps(&intent).await? {
            (lost, true) if lost.is_empty() => self.keep(intent.finish()?).await,
            // The sender watches transactions until they are final. After a restart it does not
            // know the wallet's signer until this call.
            (lost, _) if lost.is_empty() => self.wake(&intent).await,
            (lost, _) => {
                tracing::warn!(intent = %intent.id, "a reorganisation has changed an action after its end");
                self.keep(intent.reopen(&lost, self.now())?).await?;
                metrics::counter!("svc_wallet_actions_reorganised_total").increment(1);
                self.made.notify_one();
                Ok(())
            }
        }
    }

    async fn keep(&self, intent: Intent) -> Result<(), Fault> {
        self.store.write(intent).await?;
        self.changed.notify_waiters();
        Ok(())
    }
}
