//! A node in this process, which can be down or lie.

use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use dev_chain::{DevChain, Reply};
use serde_json::{Value, json};
use tx_sender::{NodeFault, Transport};

/// How long an answer takes.
const LATENCY: Duration = Duration::from_millis(2);

/// A node that is a chain in this process; tests may put another chain in its place.
#[derive(Clone)]
pub(crate) struct InProcess {
    chain: Arc<Mutex<DevChain>>,
    /// Whether it answers.
    pub(crate) up: Arc<std::sync::atomic::AtomicBool>,
    /// The node's own answers, in the chain's place.
    pub(crate) instead: Arc<Mutex<Option<Instead>>>,
}

/// Returns the answer to a request, without its envelope, where it is not the chain's.
pub(crate) type Instead = Box<dyn Fn(&Value) -> Option<Value> + Send>;

/// A node's message about a call that reverts.
pub(crate) fn reverts() -> Value {
    json!({ "error": { "code": 3, "message": "execution reverted" } })
}

impl InProcess {
    pub(crate) fn new(chain: &DevChain) -> Self {
        Self {
            chain: Arc::new(Mutex::new(chain.clone())),
            up: Arc::new(true.into()),
            instead: Arc::default(),
        }
    }
}

impl Transport for InProcess {
    fn exchange(
        &self,
        method: &'static str,
        body: Vec<u8>,
    ) -> Pin<Box<dyn Future<Output = Result<Vec<u8>, NodeFault>> + Send + '_>> {
        Box::pin(async move {
            tokio::time::sleep(LATENCY).await;
            if !self.up.load(std::sync::atomic::Ordering::SeqCst) {
                return Err(NodeFault::Unreachable);
            }
            if let Some(instead) = self.instead.lock().unwrap().as_ref() {
                let request: Value = serde_json::from_slice(&body).unwrap();
                if let Some(mut answer) = instead(&request) {
                    answer["jsonrpc"] = "2.0".into();
                    answer["id"] = request["id"].clone();
                    return Ok(answer.to_string().into_bytes());
                }
            }
            let reply = self.chain.lock().unwrap().answer(&body);
            match reply {
                Reply::Http { body, .. } => Ok(body),
                _ => Err(NodeFault::Lost { method }),
            }
        })
    }
}
