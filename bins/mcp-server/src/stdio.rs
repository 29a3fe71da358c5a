//! The same messages over standard input and output, one to a line, for an agent that starts the server itself.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;

use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc;
use tokio::task::{AbortHandle, JoinSet};

use crate::mcp::{Dispatcher, Toolbox};
use crate::rpc::{Fault, Message};

/// Answers that may wait to be written.
const WAITING: usize = 64;

/// Serves until the input ends; then what is still being worked on is answered.
///
/// # Errors
/// The input cannot be read, or the output cannot be written.
pub(crate) async fn serve<T: Toolbox>(
    dispatcher: Arc<Dispatcher<T>>,
    max_line_bytes: usize,
    mut input: impl AsyncBufRead + Unpin,
    output: impl AsyncWrite + Unpin + Send + 'static,
) -> io::Result<()> {
    let (answers, written) = mpsc::channel(WAITING);
    let writer = tokio::spawn(write(written, output));
    let read = async {
        let mut work = Work::default();
        loop {
            let line = tokio::select! {
                biased;
                () = answers.closed() => break,
                line = read_line(&mut input, max_line_bytes) => line?,
            };
            match line {
                Line::End => break,
                Line::TooLong => {
                    let message = format!("the line is longer than {max_line_bytes} bytes");
                    let answer = Fault::invalid_request(message).answer(None);
                    drop(answers.send(answer.body.unwrap_or_default()).await);
                }
                Line::Whole(line) if line.trim_ascii().is_empty() => {}
                Line::Whole(line) => work.take(&dispatcher, line, &answers),
            }
        }
        work.finish().await;
        Ok(())
    };
    let read = read.await;
    drop(answers);
    let wrote = writer.await.unwrap_or(Ok(()));
    read.and(wrote)
}

/// Requests that are being worked on.
#[derive(Default)]
struct Work {
    tasks: JoinSet<String>,
    by_id: HashMap<String, AbortHandle>,
}

impl Work {
    fn take<T: Toolbox>(
        &mut self,
        dispatcher: &Arc<Dispatcher<T>>,
        line: Vec<u8>,
        answers: &mpsc::Sender<Vec<u8>>,
    ) {
        while let Some(done) = self.tasks.try_join_next() {
            self.by_id.remove(&done.unwrap_or_default());
        }
        let id = match Message::parse(&line) {
            Ok(message) if message.id.is_none() => {
                if message.method == "notifications/cancelled"
                    && let Some(id) = message.params.find("requestId")
                    && let Some(task) = self.by_id.remove(id.get())
                {
                    task.abort();
                }
                String::new()
            }
            Ok(message) => message.id.map_or("", |id| id.json()).to_owned(),
            Err(_) => String::new(),
        };
        let (dispatcher, answers, key) = (dispatcher.clone(), answers.clone(), id.clone());
        let task = self.tasks.spawn(async move {
            let answer = dispatcher.answer(&line, None).await;
            if let Some(body) = answer.body {
                // Nobody reads any more; the loop sees that, too.
                drop(answers.send(body).await);
            }
            key
        });
        if !id.is_empty() {
            self.by_id.insert(id, task);
        }
    }

    async fn finish(&mut self) {
        while self.tasks.join_next().await.is_some() {}
    }
}

enum Line {
    Whole(Vec<u8>),
    TooLong,
    End,
}

/// Reads up to the end of a line, and of one that is too long only the fact.
async fn read_line(input: &mut (impl AsyncBufRead + Unpin), limit: usize) -> io::Result<Line> {
    let mut line = Vec::new();
    let mut too_long = false;
    loop {
        let chunk = input.fill_buf().await?;
        if chunk.is_empty() {
            return Ok(match (too_long, line.is_empty()) {
                (true, _) => Line::TooLong,
                (false, true) => Line::End,
                (false, false) => Line::Whole(line),
            });
        }
        let end = chunk.iter().position(|byte| *byte == b'\n');
        let (part, used) = match end {
            Some(end) => (chunk.get(..end).unwrap_or_default(), end.saturating_add(1)),
            None => (chunk, chunk.len()),
        };
        if too_long || line.len().saturating_add(part.len()) > limit {
            too_long = true;
            line = Vec::new();
        } else {
            line.extend_from_slice(part);
        }
        input.consume(used);
        if end.is_some() {
            return Ok(if too_long {
                Line::TooLong
            } else {
                Line::Whole(line)
            });
        }
    }
}

async fn write(
    mut answers: mpsc::Receiver<Vec<u8>>,
    mut output: impl AsyncWrite + Unpin,
) -> io::Result<()> {
    while let Some(mut answer) = answers.recv().await {
        answer.push(b'\n');
        output.write_all(&answer).await?;
        output.flush().await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use tokio::io::{BufReader, DuplexStream, ReadHalf, WriteHalf, duplex, split};
    use tokio::sync::Notify;

    use super::*;
    use crate::mcp::{About, Annotations, RawArguments, ToolDescription, ToolResult};

    /// A tool that waits for the test when it is told to.
    struct Patient {
        tools: [ToolDescription; 1],
        release: Arc<Notify>,
        entered: Arc<Notify>,
    }

    impl Toolbox for Patient {
        fn tools(&self) -> &[ToolDescription] {
            &self.tools
        }
        async fn call(&self, _: &str, arguments: &RawArguments<'_>) -> Option<ToolResult> {
            if arguments.json() != "{}" {
                self.entered.notify_one();
                self.release.notified().await;
            }
            let structured = "{\"done\":true}".to_owned();
            Some(ToolResult {
                structured,
                is_error: false,
            })
        }
    }

    /// A client at the other end of the pipes.
    struct Client {
        output: WriteHalf<DuplexStream>,
        input: BufReader<ReadHalf<DuplexStream>>,
        served: tokio::task::JoinHandle<io::Result<()>>,
        release: Arc<Notify>,
        entered: Arc<Notify>,
    }

    impl Client {
        fn start() -> Self {
            let (release, entered) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
            let hints = Annotations {
                read_only_hint: true,
                destructive_hint: false,
                idempotent_hint: true,
                open_world_hint: false,
            };
            let tool = ToolDescription {
                name: "wait".to_owned(),
                title: String::new(),
                description: String::new(),
                input_schema: json!({}),
                output_schema: json!({}),
                annotations: hints,
            };
            let toolbox = Patient {
                tools: [tool],
                release: release.clone(),
                entered: entered.clone(),
            };
            let about = About {
                name: String::new(),
                title: String::new(),
                version: String::new(),
                instructions: String::new(),
            };
            let dispatcher = Arc::new(Dispatcher::new(toolbox, &about));
            let (ours, theirs) = duplex(1 << 16);
            let (input, output) = split(theirs);
            let served = tokio::spawn(serve(dispatcher, 1000, BufReader::new(input), output));
            let (input, output) = split(ours);
            Self {
                output,
                input: BufReader::new(input),
                served,
                release,
                entered,
            }
        }

        async fn say(&mut self, message: Value) {
            let line = format!("{message}\n");
            self.output.write_all(line.as_bytes()).await.unwrap();
        }

        async fn call(&mut self, id: u32, arguments: Value) {
            let params = json!({ "name": "wait", "arguments": arguments });
            self.say(
                json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params }),
            )
            .await;
        }

        async fn hear(&mut self) -> Value {
            let mut line = String::new();
            self.input.read_line(&mut line).await.unwrap();
            serde_json::from_str(&line).unwrap()
        }
    }

    #[tokio::test]
    async fn a_slow_call_holds_up_no_other_and_is_answered_before_the_end() {
        let mut client = Client::start();
        client.call(1, json!({ "wait": true })).await;
        client.entered.notified().await;
        client.call(2, json!({})).await;
        assert_eq!(client.hear().await["id"], 2);
        client.output.shutdown().await.unwrap();
        client.release.notify_one();
        assert_eq!(client.hear().await["id"], 1);
        client.served.await.unwrap().unwrap();
    }

    #[tokio::test]
    async fn a_cancelled_call_ends_without_an_answer() {
        let mut client = Client::start();
        client.call(1, json!({ "wait": true })).await;
        client.entered.notified().await;
        let params = json!({ "requestId": 1 });
        client
            .say(json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params }))
            .await;
        client.call(2, json!({})).await;
        assert_eq!(client.hear().await["id"], 2);
        client.output.shutdown().await.unwrap();
        // Nothing waits for the call any more, and nothing is said about it.
        client.served.await.unwrap().unwrap();
        let mut rest = String::new();
        client.input.read_line(&mut rest).await.unwrap();
        assert_eq!(rest, "");
    }

    #[tokio::test]
    async fn a_client_that_stops_reading_ends_it() {
        let client = Client::start();
        let Client {
            mut output,
            input,
            served,
            ..
        } = client;
        let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
        output
            .write_all(format!("{ping}\n").as_bytes())
            .await
            .unwrap();
        drop((input, output));
        served.await.unwrap().ok();
    }
}
