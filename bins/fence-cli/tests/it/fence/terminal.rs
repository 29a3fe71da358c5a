//! Tests of a session at a terminal: what the tool shows, in which order, and what a person types.

use std::process::{Command, Stdio};

use serde_json::json;
use test_support::process::run_on;

use crate::fence::desk::{ACCOUNT, DELEGATE, Desk, NOW, PASSWORD, PROJECT, SALT};

/// Runs a program at a new terminal, and types each answer when its question appears. It types an
/// answer that must stay hidden only when the terminal no longer echoes.
const TALK: &str = r#"
import json, os, pty, signal, sys, termios, time
spec = json.load(sys.stdin)
signal.alarm(120)
pid, terminal = pty.fork()
if pid == 0:
    os.execv(spec["program"], [spec["program"], *spec["arguments"]])
shown, seen = b"", 0
while True:
    try:
        more = os.read(terminal, 4096)
    except OSError:
        break
    if not more:
        break
    shown += more
    while spec["talk"] and (at := shown.find(spec["talk"][0][0].encode(), seen)) >= 0:
        question, answer = spec["talk"].pop(0)
        seen = at + len(question)
        if question in spec["quiet"]:
            while termios.tcgetattr(terminal)[3] & termios.ECHO:
                time.sleep(0.01)
        os.write(terminal, answer.encode() + b"\n")
_, status = os.waitpid(pid, 0)
print(json.dumps({"code": os.waitstatus_to_exitcode(status), "shown": shown.decode(), "unasked": len(spec["talk"])}))
"#;

/// How a run at a terminal ended.
#[derive(Debug)]
pub(crate) struct Terminal {
    pub(crate) code: i64,
    /// Everything that the terminal showed, with the typed text that it echoed.
    pub(crate) shown: String,
}

impl Terminal {
    /// Whether this machine has the programs that make a terminal.
    pub(crate) fn is_possible() -> bool {
        let has_python = Command::new("python3")
            .args(["-c", "import pty, termios"])
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|status| status.success());
        let on_ci = std::env::var_os("CI").is_some_and(|ci| !ci.is_empty() && ci != "false");
        assert!(has_python || !on_ci, "no python3: nothing was shown");
        if !has_python {
            eprintln!("skipped: this machine has no python3, which makes the terminal");
        }
        has_python
    }

    /// Runs the tool at a terminal. The arguments are separated by white space. The questions must
    /// come in the order of `talk`.
    #[track_caller]
    pub(crate) fn run(desk: &Desk, arguments: &str, talk: &[(&str, &str)]) -> Self {
        let mut command = Command::new("python3");
        command.args(["-c", TALK]);
        desk.settle(&mut command);
        let spec = json!({
            "program": env!("CARGO_BIN_EXE_fence-cli"),
            "arguments": arguments.split_whitespace().collect::<Vec<_>>(),
            "talk": talk,
            "quiet": ["Password of the key file: ", "New password: ", "The same again: "],
        });
        let said = run_on(spec.to_string().as_bytes(), &mut command)
            .ok()
            .json();
        assert_eq!(said["unasked"], 0, "{said}");
        Self {
            code: said["code"].as_i64().unwrap(),
            shown: said["shown"].as_str().unwrap().to_owned(),
        }
    }

    fn place(&self, text: &str) -> usize {
        self.shown
            .find(text)
            .unwrap_or_else(|| panic!("{text}: {self:?}"))
    }
}

const SIGN: &str = "grant sign --in grant.json --keystore owner.key --out signed.json";

fn desk() -> Desk {
    let desk = Desk::new();
    desk.run(&format!(
        "grant new --account {ACCOUNT} --delegate {DELEGATE} --project-id {PROJECT} --salt {SALT} --out grant.json"
    ))
    .ok();
    desk
}

#[test]
fn the_words_come_before_the_question_and_the_password_is_not_shown() {
    if !Terminal::is_possible() {
        return;
    }
    let desk = desk();
    let said = Terminal::run(
        &desk,
        SIGN,
        &[
            ("Sign this? Type yes: ", "yes"),
            ("Password of the key file: ", PASSWORD),
        ],
    );
    assert_eq!(said.code, 0, "{said:?}");
    let order = [
        "A permission to swap out of your account",
        "lost at most",
        "A hardware wallet shows:",
        "message hash",
        "Sign this? Type yes: ",
        "Password of the key file: ",
    ]
    .map(|text| said.place(text));
    assert!(order.is_sorted(), "{said:?}");
    assert!(!said.shown.contains(PASSWORD), "{said:?}");
    desk.run(&format!(
        "grant verify --in signed.json --project-id {PROJECT} --salt {SALT}"
    ))
    .ok();
}

#[test]
fn an_answer_other_than_yes_signs_nothing() {
    if !Terminal::is_possible() {
        return;
    }
    let desk = desk();
    for answer in ["no", "", "y", "YES", "yes please"] {
        let said = Terminal::run(&desk, SIGN, &[("Sign this? Type yes: ", answer)]);
        assert_eq!(said.code, 1, "{answer}: {said:?}");
        said.place("refused: not_confirmed: nothing was signed");
        assert!(!said.shown.contains("Password"), "{said:?}");
        assert!(!desk.path("signed.json").exists(), "{answer}");
    }
    // A wrong password signs nothing either.
    let said = Terminal::run(
        &desk,
        SIGN,
        &[
            ("Sign this? Type yes: ", "yes"),
            ("Password of the key file: ", "hunter2"),
        ],
    );
    assert_eq!(said.code, 3, "{said:?}");
    assert!(!said.shown.contains("hunter2"), "{said:?}");
    assert!(!desk.path("signed.json").exists());
}

#[test]
fn a_new_password_is_asked_for_twice() {
    if !Terminal::is_possible() {
        return;
    }
    let desk = Desk::new();
    let new = "key new --keystore fresh.key";
    let asked = |second| {
        [
            ("New password: ", "one long password"),
            ("The same again: ", second),
        ]
    };
    let said = Terminal::run(&desk, new, &asked("another one"));
    assert_eq!(said.code, 3, "{said:?}");
    said.place("the two passwords differ");
    assert!(!desk.path("fresh.key").exists());
    let said = Terminal::run(&desk, new, &asked("one long password"));
    assert_eq!(said.code, 0, "{said:?}");
    assert!(desk.path("fresh.key").exists());
}

/// By the clock of this machine, the fixture's grant has expired.
#[test]
fn a_grant_that_is_over_is_not_asked_about() {
    if !Terminal::is_possible() {
        return;
    }
    let desk = Desk::new();
    desk.new_grant("--expires 1d").ok();
    let said = Terminal::run(&desk, SIGN, &[]);
    assert_eq!(said.code, 1, "{said:?} of {NOW}");
    said.place("refused: grant_");
    assert!(!said.shown.contains("Type yes"), "{said:?}");
}
