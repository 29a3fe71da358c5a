//! Answers one message or a batch: the methods of the protocol over a toolbox. It knows no
//! transport, and keeps nothing between two messages.

use std::net::IpAddr;
use std::time::Instant;

use http::StatusCode;
use serde_json::value::RawValue;

use super::era::{self, Declared, Era, LEGACY};
use super::rendered::Rendered;
use super::{About, RawArguments, ToolCall, ToolResult, Toolbox};
use crate::observe::Calls;
use crate::rpc::{Answer, Fault, Id, Message, batch, push_quoted, string};

/// Serves a toolbox over any transport.
pub(crate) struct Dispatcher<T> {
    toolbox: T,
    rendered: Rendered,
    calls: Calls,
}

impl<T: Toolbox> Dispatcher<T> {
    pub(crate) fn new(toolbox: T, about: &About) -> Self {
        let tools = toolbox.tools();
        Self {
            rendered: Rendered::new(about, tools),
            calls: Calls::new(tools.iter().map(|tool| tool.name.as_str())),
            toolbox,
        }
    }

    /// Answers one message or a batch. `declared` holds the transport's headers; a pipe has none.
    pub(crate) async fn answer(&self, body: &[u8], declared: Option<&Declared<'_>>) -> Answer {
        match batch(body) {
            None => self.answer_one(body, declared, false).await,
            Some(messages) => {
                let messages = era::judge_batch(declared).and(messages);
                match messages {
                    Ok(messages) => self.answer_batch(&messages, declared).await,
                    Err(fault) => {
                        self.calls.malformed();
                        fault.answer(None)
                    }
                }
            }
        }
    }

    /// Answers the messages of a batch one after the other.
    async fn answer_batch(
        &self,
        messages: &[&RawValue],
        declared: Option<&Declared<'_>>,
    ) -> Answer {
        let mut answers: Vec<u8> = Vec::new();
        for message in messages {
            let answer = self.answer_one(message.get().as_bytes(), declared, true);
            if let Some(answer) = answer.await.body {
                answers.push(if answers.is_empty() { b'[' } else { b',' });
                answers.extend_from_slice(&answer);
            }
        }
        if answers.is_empty() {
            return Answer::ACCEPTED;
        }
        answers.push(b']');
        Answer {
            status: StatusCode::OK,
            body: Some(answers),
        }
    }

    async fn answer_one(
        &self,
        body: &[u8],
        declared: Option<&Declared<'_>>,
        is_batched: bool,
    ) -> Answer {
        match Message::parse(body) {
            Ok(message) => self.dispatch(&message, declared, is_batched).await,
            Err((fault, id)) => {
                self.calls.malformed();
                fault.answer(id)
            }
        }
    }

    async fn dispatch(
        &self,
        message: &Message<'_>,
        declared: Option<&Declared<'_>>,
        is_batched: bool,
    ) -> Answer {
        let era = era::judge(message, declared).and_then(|era| match is_batched {
            true if era == Era::Modern || message.method == "initialize" => {
                let message = "this message cannot be part of a batch: send it by itself";
                Err(Fault::invalid_request(message))
            }
            _ => Ok(era),
        });
        let era = match era {
            Ok(era) => era,
            Err(fault) => {
                self.calls.malformed();
                return fault.answer(message.id);
            }
        };
        self.calls.message(&message.method);
        let Some(id) = message.id else {
            // The server waits for no notification, and an unknown one is not an error.
            return Answer::ACCEPTED;
        };
        let answered = match (message.method.as_ref(), era) {
            ("tools/call", era) => {
                let client = declared.and_then(|declared| declared.client);
                self.call(id, message, era, client).await
            }
            ("tools/list", era) => one_page(message).map(|()| match era {
                Era::Modern => Answer::result(id, &self.rendered.tools_modern),
                Era::Legacy => Answer::result(id, &self.rendered.tools_legacy),
            }),
            ("server/discover", Era::Modern) => Ok(Answer::result(id, &self.rendered.discover)),
            ("server/discover", Era::Legacy) if !is_versioned(declared) => {
                // No revision with less metadata has this method.
                Err(Fault::invalid_meta(
                    "params._meta is missing: server/discover carries \
                     io.modelcontextprotocol/protocolVersion and io.modelcontextprotocol/clientCapabilities",
                ))
            }
            ("initialize", Era::Legacy) => self.initialize(id, message),
            ("ping", Era::Legacy) => Ok(Answer::result(id, "{}")),
            ("logging/setLevel", Era::Legacy) => {
                log_level(message).map(|()| Answer::result(id, "{}"))
            }
            (method, era) => Err(Fault::method_not_found(method, era == Era::Modern)),
        };
        answered.unwrap_or_else(|fault| fault.answer(Some(id)))
    }

    /// The handshake of the revisions before 2026-07-28. It answers with the requested one of them,
    /// or with the newest.
    fn initialize(&self, id: Id<'_>, message: &Message<'_>) -> Result<Answer, Fault> {
        let requested = message.params.find("protocolVersion").and_then(string);
        let requested = requested.ok_or_else(|| {
            Fault::invalid_params("expected params.protocolVersion to be a string")
        })?;
        let index = LEGACY.iter().position(|version| *version == requested);
        let result = self.rendered.initialize.get(index.unwrap_or(0));
        Ok(Answer::result(id, result.map_or("{}", String::as_str)))
    }

    async fn call(
        &self,
        id: Id<'_>,
        message: &Message<'_>,
        era: Era,
        client: Option<IpAddr>,
    ) -> Result<Answer, Fault> {
        let started = Instant::now();
        let name = message.params.find("name").and_then(string);
        let name =
            name.ok_or_else(|| Fault::invalid_params("expected params.name to be a string"))?;
        let arguments = match message.params.find("arguments") {
            None => RawArguments::NONE,
            Some(value) if value.get() == "null" => RawArguments::NONE,
            Some(value) => RawArguments::read(value.get()).ok_or_else(|| {
                Fault::invalid_params("expected params.arguments to be an object")
            })?,
        };
        let call = ToolCall {
            name: &name,
            arguments,
            client,
        };
        let in_flight = self.calls.begin();
        let result = self.toolbox.call(&call).await;
        drop(in_flight);
        let Some(result) = result else {
            self.calls.unknown();
            let name: String = name.chars().take(128).collect();
            return Err(Fault::invalid_params(format!("unknown tool: {name}")));
        };
        self.calls.called(&name, result.is_error, started.elapsed());
        Ok(self.called(id, &result, era))
    }

    fn called(&self, id: Id<'_>, result: &ToolResult, era: Era) -> Answer {
        // The text member repeats the JSON with its quotes escaped.
        let room = result.structured.len().saturating_mul(9) / 4;
        let mut body = Answer::open(id, room.saturating_add(512));
        body.extend_from_slice(match era {
            Era::Modern => {
                b"{\"resultType\":\"complete\",\"content\":[{\"type\":\"text\",\"text\":"
            }
            Era::Legacy => b"{\"content\":[{\"type\":\"text\",\"text\":",
        });
        push_quoted(&mut body, &result.structured);
        body.extend_from_slice(b"}],\"structuredContent\":");
        body.extend_from_slice(result.structured.as_bytes());
        body.extend_from_slice(if result.is_error {
            b",\"isError\":true"
        } else {
            b",\"isError\":false"
        });
        match era {
            Era::Modern => body.extend_from_slice(self.rendered.modern_tail.as_bytes()),
            Era::Legacy => body.push(b'}'),
        }
        body.push(b'}');
        Answer {
            status: StatusCode::OK,
            body: Some(body),
        }
    }
}

/// Refuses a request for a further page: the list has one.
fn one_page(message: &Message<'_>) -> Result<(), Fault> {
    match message.params.find("cursor").map(|cursor| cursor.get()) {
        None | Some("null") => Ok(()),
        Some(_) => Err(Fault::invalid_params(
            "params.cursor: there is one page only",
        )),
    }
}

fn log_level(message: &Message<'_>) -> Result<(), Fault> {
    const LEVELS: [&str; 8] = [
        "debug",
        "info",
        "notice",
        "warning",
        "error",
        "critical",
        "alert",
        "emergency",
    ];
    let level = message.params.find("level").and_then(string);
    if level.is_some_and(|level| LEVELS.contains(&level.as_ref())) {
        Ok(())
    } else {
        let levels = LEVELS.join(", ");
        Err(Fault::invalid_params(format!(
            "expected params.level to be one of {levels}"
        )))
    }
}

fn is_versioned(declared: Option<&Declared<'_>>) -> bool {
    declared.is_some_and(|declared| declared.version != era::Field::Absent)
}
