//! What went over the wire while a question was asked.

use std::{
    future::Future,
    sync::{Arc, Mutex, PoisonError},
};

use reqwest::{Url, header::CONTENT_TYPE};

use crate::{error::SourceErrorKind, transport::Reply};

tokio::task_local! {
    static CURRENT: Witness;
}

/// Notes the exchanges of a piece of work. Clones share the notes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Witness {
    notes: Arc<Mutex<Vec<Exchange>>>,
}

/// A request to an upstream, and what came of it. Headers are not kept, because keys stand in them.
#[derive(Clone, Debug)]
pub struct Exchange {
    /// Id of the source, for example `okx.swap`.
    pub source: &'static str,
    /// The host and the path before that of the request; nothing for an endpoint whose address may
    /// be a secret.
    pub base: Option<(String, String)>,
    /// The path with its query. Keys may stand in the query.
    pub path_and_query: String,
    /// The body of a POST.
    pub sent: Option<String>,
    /// Whether a key was sent along.
    pub keyed: bool,
    /// What came back; nothing when no answer came, or when the upstream was not asked.
    pub reply: Option<Answered>,
    /// Why it could not be used.
    pub fault: Option<SourceErrorKind>,
    /// Whether the request was sent at all.
    pub asked: bool,
}

/// An answer as it came.
#[derive(Clone, Debug)]
pub struct Answered {
    /// Its status.
    pub status: u16,
    /// What it called itself.
    pub content_type: String,
    /// Its body.
    pub body: Vec<u8>,
}

/// What is known of a request before it is answered.
pub(crate) struct Sent<'a> {
    pub(crate) source: &'static str,
    pub(crate) base: Option<&'a str>,
    pub(crate) path_and_query: &'a str,
    pub(crate) body: Option<&'a str>,
    pub(crate) keyed: bool,
}

impl Witness {
    /// Runs `work` and notes its exchanges here.
    pub(crate) async fn scope<F: Future>(&self, work: F) -> F::Output {
        CURRENT.scope(self.clone(), work).await
    }

    /// `work`, witnessed by whoever witnesses the caller, also when it runs in another task.
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

    /// What was noted so far.
    pub(crate) fn exchanges(&self) -> Vec<Exchange> {
        self.with(|notes| notes.clone())
    }

    /// Notes that a request was sent, with the answer if one came.
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

    /// Notes why the last exchange with `source` is of no use, or why there was none.
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
