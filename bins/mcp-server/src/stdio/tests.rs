//! A client at the other end of the pipes.

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader, DuplexStream, ReadHalf, WriteHalf, duplex, split};
use tokio::sync::Notify;

use super::*;
use crate::mcp::{About, Annotations, ToolCall, ToolDescription, ToolResult};

/// A tool that waits for the test when its arguments say so.
struct Patient {
    tools: [ToolDescription; 1],
    release: Arc<Notify>,
    entered: Arc<Notify>,
}

impl Toolbox for Patient {
    fn tools(&self) -> &[ToolDescription] {
        &self.tools
    }
    async fn call(&self, call: &ToolCall<'_>) -> Option<ToolResult> {
        if call.arguments.json() != "{}" {
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

/// The protocol over a tool that waits until `release`, and notifies `entered`.
fn patient(release: &Arc<Notify>, entered: &Arc<Notify>) -> Arc<Dispatcher<Patient>> {
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
    Arc::new(Dispatcher::new(toolbox, &about))
}

impl Client {
    fn start() -> Self {
        let (release, entered) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let dispatcher = patient(&release, &entered);
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

    async fn send(&mut self, message: Value) {
        let line = format!("{message}\n");
        self.output.write_all(line.as_bytes()).await.unwrap();
    }

    async fn call(&mut self, id: u32, arguments: Value) {
        let params = json!({ "name": "wait", "arguments": arguments });
        self.send(json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params }))
            .await;
    }

    async fn receive(&mut self) -> Value {
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
    assert_eq!(client.receive().await["id"], 2);
    client.output.shutdown().await.unwrap();
    client.release.notify_one();
    assert_eq!(client.receive().await["id"], 1);
    client.served.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_cancelled_call_ends_without_an_answer() {
    let mut client = Client::start();
    client.call(1, json!({ "wait": true })).await;
    client.entered.notified().await;
    let params = json!({ "requestId": 1 });
    client
        .send(json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params }))
        .await;
    client.call(2, json!({})).await;
    assert_eq!(client.receive().await["id"], 2);
    client.output.shutdown().await.unwrap();
    // Nothing waits for the call any more, so it gets no answer.
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

/// A message that calls the tool and waits.
fn waiting(id: u32) -> String {
    let params = json!({ "name": "wait", "arguments": { "wait": true } });
    json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params }).to_string()
}

#[tokio::test]
async fn messages_in_progress_are_bounded_and_reading_waits() {
    let mut client = Client::start();
    let most = u32::try_from(IN_FLIGHT).unwrap();
    for id in 0..most {
        client.call(id, json!({ "wait": true })).await;
        client.entered.notified().await;
    }
    // The server would answer this call at once, but it reads no further line.
    client.call(most, json!({})).await;
    tokio::select! {
        biased;
        answer = client.receive() => panic!("{answer}"),
        () = settled() => {}
    }
    client.release.notify_one();
    let answers = [client.receive().await, client.receive().await];
    assert!(
        answers.iter().any(|answer| answer["id"] == most),
        "{answers:?}"
    );
    client.release.notify_waiters();
    client.output.shutdown().await.unwrap();
    for _ in 1..most {
        assert!(client.receive().await["id"].as_u64().unwrap() < most.into());
    }
    client.served.await.unwrap().unwrap();
}

/// Resolves when every other task of this one-threaded runtime was polled many times.
async fn settled() {
    for _ in 0..1_000 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn ids_that_have_ended_are_forgotten() {
    let (release, entered) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let dispatcher = patient(&release, &entered);
    let (answers, mut written) = mpsc::channel(WAITING);
    let mut work = Work::default();
    for id in 0..1_000 {
        work.take(&dispatcher, waiting(id).into_bytes(), &answers);
        entered.notified().await;
        let cancel = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id } });
        if id % 2 == 0 {
            work.take(&dispatcher, cancel.to_string().into_bytes(), &answers);
        } else {
            release.notify_one();
            written.recv().await.unwrap();
        }
        while !work.is_empty() {
            work.one_done().await;
        }
        assert_eq!(work.held(), (0, 0));
    }
    // Two requests have the same id: after the end of the first, the second can still be cancelled.
    work.take(&dispatcher, waiting(7).into_bytes(), &answers);
    work.take(&dispatcher, waiting(7).into_bytes(), &answers);
    entered.notified().await;
    release.notify_one();
    written.recv().await.unwrap();
    work.one_done().await;
    assert_eq!(work.held(), (1, 1));
    let cancel = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}"#;
    work.take(&dispatcher, cancel.as_bytes().to_vec(), &answers);
    work.finish().await;
    assert!(written.try_recv().is_err());
}
