//! `plan show` and `plan verify`: read a plan without asking anybody. `show` describes and judges
//! nothing.

mod answer;
mod emit;
mod verify;
mod words;

use std::{
    fmt::Write as _,
    path::{Path, PathBuf},
};

use calldata_checks::UtcSeconds;
use clap::Args;
use serde_json::{Value, json};

pub(crate) use self::verify::{policy as reviewed, verified};
use self::{answer::plan_of, words::Words};
pub use self::{
    emit::Emit,
    verify::{Verify, verify},
};
use crate::{CommandOutcome, Exit, Failure, Printable, Refused, now, source};

/// `plan show`.
#[derive(Debug, Args)]
pub struct Show {
    /// The plan: the envelope, or the rail's whole answer (`-`: standard input)
    #[arg(long, value_name = "FILE")]
    pub plan: PathBuf,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Prints the actions of a plan, read from the bytes that would be signed. Nothing is judged.
pub fn show(arguments: &Show) -> CommandOutcome {
    let text = match source::read(&arguments.plan) {
        Ok(text) => text,
        Err(error) => return CommandOutcome::error(error, Exit::File),
    };
    let plan = match plan_of(&text).and_then(|plan| parse(&plan)) {
        Ok(plan) => plan,
        Err(refused) => return CommandOutcome::refused(&refused, arguments.json),
    };
    let words = Words::of(&plan);
    if arguments.json {
        return CommandOutcome::json(&json!({"plan": json_of(&words), "judged": false}), Exit::Ok);
    }
    let mut said = lines(&words);
    said.push_str(&time_left(&plan, now::clock()));
    said.push_str(
        "\nNOT JUDGED: this is what the bytes say, not that they are right. \
         `fence-cli plan verify` judges them against the request.\n",
    );
    CommandOutcome::ok(said)
}

/// The envelope of a file, byte for byte, inside any wrapping of the rail's answer. Nothing is
/// judged.
///
/// # Errors
/// A file that cannot be read; `plan_malformed`; the rail's own refusal.
pub fn envelope(path: &Path) -> Result<String, Failure> {
    let text = source::read(path)?;
    Ok(plan_of(&text)?.into_owned())
}

fn parse(plan: &str) -> Result<Value, Refused> {
    exact::parse_json(plan).map_err(|defects| {
        let first = defects.first().map(ToString::to_string);
        Refused::new("plan_malformed", first.unwrap_or_default())
    })
}

/// The lines of a plan, aligned; foreign text is neutralised.
fn lines(words: &Words) -> String {
    let labels = words.lines().iter().map(|(label, _)| label.len());
    let width = labels.max().unwrap_or_default();
    let mut said = String::new();
    for (label, text) in words.lines() {
        // Writing to a string cannot fail.
        let _ = writeln!(said, "{label:width$}  {}", Printable(text));
    }
    said
}

fn json_of(words: &Words) -> Value {
    let line = |(label, text): &(&str, String)| json!({"label": label, "text": text});
    words.lines().iter().map(line).collect()
}

fn time_left(plan: &Value, now: UtcSeconds) -> String {
    let valid_until = plan
        .pointer("/valid_until")
        .and_then(Value::as_str)
        .and_then(|text| text.parse::<UtcSeconds>().ok());
    match valid_until {
        Some(end) if end < now => format!("by this machine's clock ({now}) the plan is over\n"),
        Some(_) => format!("by this machine's clock it is {now}\n"),
        None => String::new(),
    }
}
