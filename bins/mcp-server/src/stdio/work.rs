//! Messages in progress.

use std::sync::Arc;

use tokio::sync::mpsc;
use tokio::task::{AbortHandle, JoinSet};

use crate::mcp::{Dispatcher, Toolbox};
use crate::rpc::Message;

/// Messages in progress, each in its own task.
#[derive(Default)]
pub(super) struct Work {
    tasks: JoinSet<()>,
    /// The requests among them, by id in the caller's spelling.
    requests: Vec<(String, AbortHandle)>,
}

impl Work {
    /// The number of messages. A cancelled request counts until its task ends.
    pub(super) fn len(&self) -> usize {
        self.tasks.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.tasks.is_empty()
    }

    /// Starts a task for a message.
    pub(super) fn take<T: Toolbox>(
        &mut self,
        dispatcher: &Arc<Dispatcher<T>>,
        line: Vec<u8>,
        answers: &mpsc::Sender<Vec<u8>>,
    ) {
        let mut id = None;
        if let Ok(message) = Message::parse(&line) {
            id = message.id.map(|id| id.json().to_owned());
            if id.is_none()
                && message.method == "notifications/cancelled"
                && let Some(cancelled) = message.params.find("requestId")
            {
                self.cancel(cancelled.get());
            }
        }
        let (dispatcher, answers) = (dispatcher.clone(), answers.clone());
        let task = self.tasks.spawn(async move {
            let answer = dispatcher.answer(&line, None).await;
            if let Some(body) = answer.body {
                // The writer has ended. The loop notices that as well.
                drop(answers.send(body).await);
            }
        });
        self.requests.extend(id.map(|id| (id, task)));
    }

    fn cancel(&self, id: &str) {
        let named = self.requests.iter().filter(|(request, _)| request == id);
        named.for_each(|(_, task)| task.abort());
    }

    /// Waits until one message is done, and removes it.
    pub(super) async fn one_done(&mut self) {
        let Some(done) = self.tasks.join_next_with_id().await else {
            return;
        };
        let ended = match done {
            Ok((ended, ())) => ended,
            Err(cancelled) => cancelled.id(),
        };
        self.requests.retain(|(_, task)| task.id() != ended);
    }

    /// Waits until all messages are done.
    pub(super) async fn finish(&mut self) {
        while self.tasks.join_next().await.is_some() {}
    }

    #[cfg(test)]
    pub(super) fn held(&self) -> (usize, usize) {
        (self.tasks.len(), self.requests.len())
    }
}
