//! Records the exchanges on the wire while a question is asked. Work without a witness is not
//! recorded. Headers are never kept, because they carry keys.

use std::{
    future::Future,
    sync::{Arc, Mutex, PoisonError},
};

use reqwest::{Url, header::CONTENT_TYPE};

use crate::{error::SourceErrorKind, transport::Reply};

tokio::task_local! {
    static CURRENT: Witness;
}

/// Records the exchanges of a piece of work. Clones share the record.
#[derive(Clone, Debug, Default)]
pub(crate) struct Witness {
    notes: Arc<Mutex<Vec<Exchange>>>,
}

/// A request to an upstream, and its result. Headers are not kept, because they carry keys.
#[derive(Clone, Debug)]
pub struct Exchange {
    /// Id of the source, for example `okx.swap`.
    pub source: &'static str,
    /// The host and the path prefix of the request; `None` for an endpoint whose address may be a
    /// secret.
    pub base: Option<(String, String)>,
    /// The path with its query. The query may carry keys.
    pub path_and_query: String,
    /// The body of a POST.
    pub sent: Option<String>,
    /// Whether the request carried a key.
    pub keyed: bool,
    /// The answer; `None` when no answer came, or when the upstream was not asked.
    pub reply: Option<Answered>,
    /// The reason why the answer could not be used.
    pub fault: Option<SourceErrorKind>,
    /// Whether the request was sent at all.
    pub asked: bool,
}

/// An answer as it arrived.
#[derive(Clone, Debug)]
pub struct Answered {
    /// Its status.
    pub status: u16,
    /// Its content type.
    pub content_type: String,
    /// Its body.
    pub body: Vec<u8>,
}

/// The request, as it is known before the answer.
pub(crate) struct Sent<'a> {
    pub(crate) source: &'static str,
    pub(crate) base: Option<&'a str>,
    pub(crate) path_and_query: &'a str,
    pub(crate) body: Option<&'a str>,
    pub(crate) keyed: bool,
}

impl Witness {
    /// Runs `work` and records its exchanges here.
    pub(crate) async fn scope<F: Future>(&self, work: F) -> F::Output {
        CURRENT.scope(self.clone(), work).await
    }

    /// Records `work` in the witness of the caller, even when it runs in another task.
    pub(crate) fn carry<F: Future>(work: F) -> impl Future<Output = F::Output> {
        let witness = Self::current();
        async move {
            match witness {
                Some(witness) => witness.scope(work).await,
                None => work.await,
            }
        }
    }

    /// The witness of the running work, if it has one.
    pub(crate) fn current() -> Option<Self> {
        CURRENT.try_with(Clone::clone).ok()
    }

    /// The exchanges so far.
    pub(crate) fn exchanges(&self) -> Vec<Exchange> {
        self.with(|notes| notes.clone())
    }

    /// Records that a request was sent, with the answer if one came.
    pub(crate) fn saw(sent: &Sent<'_>, reply: Option<&Reply>) {
        let Some(witness) = Self::current() else {
            return;
        };
        let answered = |reply: &Reply| Answered {
            status: reply.status.as_u16(),
            content_type: reply
                .headers
                .get(CONTENT_TYPE)
                .and_then(|value| value.to_str().ok())
                .unwrap_or_default()
                .to_owned(),
            body: reply.body.clone(),
        };
        let exchange = Exchange {
            source: sent.source,
            base: sent.base.and_then(split),
            path_and_query: sent.path_and_query.to_owned(),
            sent: sent.body.map(str::to_owned),
            keyed: sent.keyed,
            reply: reply.map(answered),
            fault: None,
            asked: true,
        };
        witness.with(|notes| notes.push(exchange));
    }

    /// Records why the last exchange with `source` gave no value, or why there was none.
    pub(crate) fn fault(source: &'static str, kind: &SourceErrorKind) {
        if let Some(witness) = Self::current() {
            witness.note_fault(source, kind);
        }
    }

    pub(crate) fn note_fault(&self, source: &'static str, kind: &SourceErrorKind) {
        self.with(|notes| {
            let of_source = |note: &&mut Exchange| note.source == source;
            match notes.iter_mut().rev().find(of_source) {
                Some(note) => note.fault = note.fault.take().or_else(|| Some(kind.clone())),
                None => notes.push(Exchange {
                    source,
                    base: None,
                    path_and_query: String::new(),
                    sent: None,
                    keyed: false,
                    reply: None,
                    fault: Some(kind.clone()),
                    asked: false,
                }),
            }
        });
    }

    fn with<T>(&self, work: impl FnOnce(&mut Vec<Exchange>) -> T) -> T {
        work(&mut self.notes.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Host and path of an address.
fn split(base: &str) -> Option<(String, String)> {
    let url = Url::parse(base).ok()?;
    let host = url.host_str()?.to_owned();
    let host = match url.port() {
        Some(port) => format!("{host}:{port}"),
        None => host,
    };
    Some((host, url.path().trim_end_matches('/').to_owned()))
}
