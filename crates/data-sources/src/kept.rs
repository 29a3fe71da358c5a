//! A value that is fetched by one caller at a time and kept for a while.

use std::{future::Future, sync::Arc, time::Duration};

use jiff::Timestamp;
use plan_builder::ports::PortError;
use tokio::sync::Mutex;

/// For how long a failure is not repeated: callers that wait behind one must not queue up another.
const FAILURE_KEPT: Duration = Duration::from_secs(1);

/// The last value and the last failure. The lock is held while fetching.
#[derive(Debug)]
pub(crate) struct Kept<T> {
    state: Mutex<State<T>>,
}

#[derive(Debug)]
struct State<T> {
    value: Option<(Timestamp, Arc<T>)>,
    failure: Option<(Timestamp, PortError)>,
}

impl<T> Default for Kept<T> {
    fn default() -> Self {
        Self {
            state: Mutex::new(State {
                value: None,
                failure: None,
            }),
        }
    }
}

impl<T> Kept<T> {
    /// The value, when it is younger than `ttl` by the clock `now`; otherwise what `fetch` gives.
    pub(crate) async fn get<F>(
        &self,
        ttl: Duration,
        now: impl Fn() -> Timestamp + Send,
        fetch: impl FnOnce() -> F + Send,
    ) -> Result<Arc<T>, PortError>
    where
        F: Future<Output = Result<T, PortError>> + Send,
        T: Send + Sync,
    {
        let mut state = self.state.lock().await;
        let young = |then: Timestamp, limit: Duration| {
            Duration::try_from(now().duration_since(then)).is_ok_and(|age| age < limit)
        };
        if let Some((_, value)) = state.value.as_ref().filter(|(then, _)| young(*then, ttl)) {
            return Ok(value.clone());
        }
        if let Some((_, error)) = state
            .failure
            .as_ref()
            .filter(|(then, _)| young(*then, FAILURE_KEPT))
        {
            return Err(error.clone());
        }
        let asked = now();
        match fetch().await {
            Ok(value) => {
                let value = Arc::new(value);
                *state = State {
                    value: Some((asked, value.clone())),
                    failure: None,
                };
                Ok(value)
            }
            Err(error) => {
                state.failure = Some((now(), error.clone()));
                Err(error)
            }
        }
    }
}
