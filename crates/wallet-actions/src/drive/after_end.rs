//! Intents that are over, until no block can change what they say.

use std::sync::Arc;

use super::Fault;
use crate::intent::Intent;
use crate::{IntentId, Shared, StoreError};

/// Looks at the intents that are over and not final, again and again. It holds nothing between two
/// looks: what is left to look after is in the store, also after a restart.
pub(crate) async fn look_after_ended(shared: Arc<Shared>) {
    loop {
        match shared.store.unsettled().await {
            Ok(unsettled) => {
                for id in unsettled {
                    match shared.look_after(&id).await {
                        // Somebody has written it meanwhile.
                        Ok(()) | Err(Fault::Store(StoreError::Conflict { .. })) => {}
                        Err(fault) => {
                            tracing::warn!(intent = %id, %fault, "the transactions of an action are not looked after");
                        }
                    }
                }
            }
            Err(error) => {
                tracing::warn!(code = error.code(), "ended actions cannot be looked for");
            }
        }
        tokio::time::sleep(shared.pace.sweep).await;
    }
}

impl Shared {
    async fn look_after(&self, id: &IntentId) -> Result<(), Fault> {
        let intent = self.store.get(id).await?;
        let Some(intent) = intent.filter(|intent| intent.state.is_over() && !intent.is_final)
        else {
            return Ok(());
        };
        match self.look_at(&intent).await? {
            (lost, true) if lost.is_empty() => self.keep(intent.finish()?).await,
            // The sender looks after transactions until they are final. After a start it knows the
            // wallet's key only from here.
            (lost, _) if lost.is_empty() => self.wake(&intent).await,
            (lost, _) => {
                tracing::warn!(intent = %intent.id, "a reorganisation has changed an action after its end");
                metrics::counter!("svc_wallet_actions_reorganised_total").increment(1);
                self.keep(intent.reopen(&lost, self.now())?).await?;
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
