//! The work behind paid calls: sometimes slow, refused or broken.

use std::panic::resume_unwind;
use std::sync::Arc;

use alloy_primitives::B256;
use ledger::PaidAnswer;
use route_catalog::ErrorCode;
use serde_json::{Map, Value};

use super::world::{Life, World};
use crate::call::Call;
use crate::payment::Worker;
use crate::reply::ErrorReply;

pub(super) struct SimulatedWorker {
    pub(super) world: Arc<World>,
    pub(super) life: Life,
}

impl Worker for SimulatedWorker {
    /// Names the request and the number of this piece of work in the answer, so that no two answers
    /// are equal.
    async fn answer(&self, _call: &Call, request: B256) -> Result<PaidAnswer, ErrorReply> {
        self.life.step(&self.world).await;
        if self.world.goes_wrong(self.world.rates.worker) {
            let kinds = [
                "refuses",
                "knows nothing of it",
                "is slow",
                "never ends",
                "panics",
            ];
            let kind = self.world.chance.pick(&kinds);
            self.world.note(|| format!("worker: {kind}"));
            match kind {
                "refuses" => {
                    let code = ErrorCode::UpstreamUnavailable;
                    return Err(ErrorReply::new(code, "no source answers"));
                }
                "knows nothing of it" => {
                    let code = ErrorCode::NotFound;
                    return Err(ErrorReply::new(code, "there is no such token"));
                }
                "is slow" => self.world.sleep(self.world.chance.between(3, 30)).await,
                "never ends" => std::future::pending().await,
                // `resume_unwind` panics without printing a message.
                _ => resume_unwind(Box::new("the work panics")),
            }
        }
        let number = self.world.number_work();
        self.life.step(&self.world).await;
        let body = format!("{request}/{number}");
        Ok(PaidAnswer::new(200, Vec::new(), body.into()))
    }

    async fn has_begun(&self, _payment: B256) -> bool {
        false
    }

    async fn began(&self, _payment: B256) -> Option<Map<String, Value>> {
        None
    }
}
