//! `order submit`: gives a signed order with its plan to the service, and waits for the plan's end.
//! The service sends the plan; this command may stop waiting at any time.

use std::{
    fmt::Write as _,
    path::PathBuf,
    thread,
    time::{Duration, Instant},
};

use alloy_primitives::B256;
use clap::Args;
use delegation_fence::{Order, Signed};
use fence_offline::{
    CommandOutcome, Exit, Failure, Printable, Refused, document::Document, plan,
    settings::Settings, source, units,
};
use serde_json::{Value, value::RawValue};

use crate::{
    client::{Client, Server},
    confirm::PAUSE,
    submit::member_text,
};

/// `order submit`.
#[derive(Debug, Args)]
pub struct SubmitOrder {
    /// The signed order (`-`: standard input)
    #[arg(long = "in", value_name = "FILE")]
    pub input: PathBuf,
    /// The plan that is ordered: the envelope, or the rail's whole answer
    #[arg(long, value_name = "FILE")]
    pub plan: PathBuf,
    /// The request: the `arguments` that were sent to the tool
    #[arg(long, value_name = "FILE")]
    pub request: PathBuf,
    /// The server
    #[command(flatten)]
    pub server: Server,
    /// Let the service judge it, and send nothing
    #[arg(long)]
    pub dry_run: bool,
    /// How long to wait for its end, in seconds; 0: do not wait
    #[arg(long, value_name = "SECONDS", default_value = "180")]
    pub timeout: u64,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Gives an order to the service and waits until its plan has ended. Repeating the same order sends
/// nothing: the service answers with the state of its plan.
///
/// # Errors
/// The service's refusal by its name; a file or server that cannot be used.
pub fn submit_order(arguments: &SubmitOrder) -> Result<CommandOutcome, Failure> {
    let inputs = [&arguments.input, &arguments.plan, &arguments.request];
    if inputs.iter().filter(|path| source::is_stdin(path)).count() > 1 {
        return Err(Failure::usage(
            "only one of --in, --plan and --request can be standard input",
        ));
    }
    let client = arguments.server.connect(&Settings::load()?)?;
    let signed = Document::<Order>::read(&arguments.input)?.signed()?;
    let envelope = plan::envelope(&arguments.plan)?;
    let request = source::read(&arguments.request)?;
    let body = body(&signed, &request, &envelope, arguments.dry_run)?;
    let answer = client.post("/delegation/submissions", &body)?.success()?;
    if arguments.dry_run {
        return tried(&answer, arguments.json);
    }
    let digest = signed.message().payload_digest;
    let patience = Duration::from_secs(arguments.timeout);
    let said = match wait(&client, digest, patience) {
        Ok(said) => said,
        // The order was accepted, but its result could not be read.
        Err(Failure::Error(error, _)) => {
            return Ok(CommandOutcome::error(
                format!(
                    "the plan {digest} was accepted, but what became of it could not be read: {error}; the same command asks again and sends \
                     nothing twice"
                ),
                Exit::Unconfirmed,
            ));
        }
        Err(refused) => return Err(refused),
    };
    let exit = match Ended::of(&said) {
        Ended::Landed => Exit::Ok,
        Ended::Clean => Exit::Refused,
        Ended::Open => Exit::Unconfirmed,
    };
    Ok(if arguments.json {
        CommandOutcome::json(&said, exit)
    } else {
        CommandOutcome {
            stdout: words(&said, &signed),
            stderr: String::new(),
            exit,
        }
    })
}

/// The body, with plan and request byte for byte, because the order covers these bytes.
fn body(
    signed: &Signed<Order>,
    request: &str,
    envelope: &str,
    dry_run: bool,
) -> Result<String, Failure> {
    let request: &RawValue = serde_json::from_str(request).map_err(|error| {
        Failure::file(format!(
            "--request: not JSON, at line {} column {}",
            error.line(),
            error.column()
        ))
    })?;
    let order = signed.message();
    let dry_run = if dry_run { r#","dry_run":true"# } else { "" };
    Ok(format!(
        r#"{{"account":"{}","grant_id":"{}","request":{request},"envelope":{envelope},"order":{},"signature":"{}"{dry_run}}}"#,
        order.account,
        order.grant_id,
        signed.typed_data().to_json(),
        signed.signature(),
    ))
}

/// The service's answer to a dry run.
fn tried(answer: &Value, as_json: bool) -> Result<CommandOutcome, Failure> {
    if answer.get("admitted") == Some(&Value::Bool(true)) {
        return Ok(if as_json {
            CommandOutcome::json(answer, Exit::Ok)
        } else {
            CommandOutcome::ok("admitted: the service would send this plan now; nothing was sent\n")
        });
    }
    let text = |member: &str| {
        answer
            .get(member)
            .and_then(Value::as_str)
            .map(str::to_owned)
    };
    let Some(rule) = text("refused_by") else {
        return Err(Failure::Error(
            "the server's answer is not that of a dry run".to_owned(),
            Exit::Network,
        ));
    };
    if as_json {
        return Ok(CommandOutcome::json(answer, Exit::Refused));
    }
    let message = text("message").unwrap_or_default();
    let check = text("check").map(|check| format!("check: {check}"));
    Err(Refused {
        expected: text("expected"),
        observed: text("observed"),
        details: check.into_iter().collect(),
        ..Refused::new(rule, format!("the service would refuse: {message}"))
    }
    .into())
}

/// Asks until the plan has ended or the time is over. Returns the last answer. A failing server is
/// asked again.
fn wait(client: &Client, digest: B256, patience: Duration) -> Result<Value, Failure> {
    let begun = Instant::now();
    loop {
        let said = client
            .get(&format!("/delegation/submissions/{digest}"))
            .and_then(crate::client::Answer::success);
        let over = said.as_ref().is_ok_and(is_over);
        if over || begun.elapsed().saturating_add(PAUSE) > patience {
            return said;
        }
        thread::sleep(PAUSE);
    }
}

fn is_over(said: &Value) -> bool {
    matches!(state(said), "done" | "halted_clean" | "halted_dirty")
}

fn state(said: &Value) -> &str {
    said.get("state")
        .and_then(Value::as_str)
        .unwrap_or_default()
}

/// The state in an answer.
enum Ended {
    /// Sent, with the expected output, and without a remaining allowance.
    Landed,
    /// Halted, without a remaining allowance.
    Clean,
    /// Any other state: running, with a remaining allowance, or without the expected output.
    Open,
}

impl Ended {
    fn of(said: &Value) -> Self {
        let is_clear = said.get("allowance_read_back").and_then(Value::as_str) == Some("0");
        let landed = said.pointer("/landed/ok") == Some(&Value::Bool(true));
        match state(said) {
            "done" if landed && is_clear => Self::Landed,
            "halted_clean" if is_clear => Self::Clean,
            _ => Self::Open,
        }
    }
}

fn words(said: &Value, signed: &Signed<Order>) -> String {
    let order = signed.message();
    let chain_id = Some(signed.typed_data().domain().chain_id());
    let amount = |pointer: &str| {
        let digits = said.pointer(pointer).and_then(Value::as_str)?;
        let atoms = digits.parse().ok()?;
        Some(units::amount(chain_id, order.output_token, atoms))
    };
    let mut words = format!(
        "plan {}: {}\n",
        order.payload_digest,
        Printable(&member_text(said, "state"))
    );
    // Writing to a string cannot fail.
    for member in ["halted_at", "reason"] {
        if said.get(member).is_some() {
            let label = member.replace('_', " ");
            let _ = writeln!(words, "{label:18}{}", Printable(&member_text(said, member)));
        }
    }
    let steps = said.get("steps").and_then(Value::as_array);
    for step in steps.into_iter().flatten() {
        let text = |member| member_text(step, member);
        let _ = writeln!(
            words,
            "{:18}{} {}",
            Printable(&text("kind")).to_string(),
            Printable(&text("status")),
            Printable(&text("tx_hash"))
        );
    }
    if let (Some(landed), Some(least)) = (amount("/landed/amount"), amount("/landed/at_least")) {
        let _ = writeln!(words, "landed            {landed}, at least {least}");
    }
    let _ = writeln!(
        words,
        "allowance         {}",
        match said.get("allowance_read_back").and_then(Value::as_str) {
            Some(left) => format!("read back: {}", Printable(left)),
            None => "not read back yet".to_owned(),
        }
    );
    if let Some(transaction) = said.get("clear_transaction") {
        let _ = writeln!(
            words,
            "an allowance is left that the service cannot clear; send this from {}: {}",
            order.account,
            Printable(&transaction.to_string())
        );
    }
    if !is_over(said) {
        words
            .push_str("not at its end yet: the same command asks again, and sends nothing twice\n");
    }
    words
}
