//! Tests of files that cannot be used: the exit code is 3, and the message names the file.

use std::fs;

use test_support::process::{Ended, run};

use crate::plan_verify::case::{Case, verify};

fn unusable(ended: &Ended, parts: &[&str]) {
    ended.error(3, parts);
    assert!(
        ended.stderr.starts_with("error: ") && ended.stderr.ends_with('\n'),
        "{ended:?}"
    );
}

#[test]
fn a_missing_file_is_named() {
    let case = Case::of("swap");
    assert_eq!(case.run().code, 0);
    for name in ["plan", "request", "fees"] {
        let mut command = verify();
        for other in ["plan", "request", "fees"] {
            let file = if other == name { "absent" } else { other };
            command.arg(format!("--{other}")).arg(case.path(file));
        }
        unusable(&run(&mut command), &["absent: "]);
    }
}

#[test]
fn a_folder_and_bytes_that_are_not_text_are_no_files() {
    let case = Case::of("swap");
    assert_eq!(case.run().code, 0);
    fs::remove_file(case.path("plan")).unwrap();
    fs::create_dir(case.path("plan")).unwrap();
    let mut command = verify();
    for name in ["plan", "request", "fees"] {
        command.arg(format!("--{name}")).arg(case.path(name));
    }
    unusable(&run(&mut command), &["plan: "]);

    let mut case = Case::of("swap");
    case.plan = vec![b'"', 0xff, b'"'];
    unusable(&case.run(), &["plan: not UTF-8"]);
    unusable(&case.run_piping("plan"), &["standard input: not UTF-8"]);
}

#[test]
fn a_file_of_any_length_is_not_read_to_its_end() {
    let mut case = Case::of("swap");
    let least = case.plan.len();
    case.plan.resize(4 * 1024 * 1024, b' ');
    assert_eq!(case.run().code, 0);
    case.plan.push(b' ');
    unusable(&case.run(), &["plan: longer than 4 MiB"]);
    assert!(least < 20_000);
}

#[test]
fn a_fee_configuration_that_cannot_be_used_says_why() {
    let check = |from: &str, to: &str, parts: &[&str]| {
        unusable(&Case::of("swap").edit_fees(from, to).run(), parts);
    };
    check(
        "rounding =",
        "rounding",
        &["fees: not a fee configuration: line 6: "],
    );
    check(
        "integrator =",
        "integrater =",
        &["line 4: ", "unknown field `integrater`"],
    );
    check(
        "version = \"2026-11-01\"\n",
        "",
        &["missing field `version`"],
    );
    check("\"floor\"", "\"ceil\"", &["rounding: \"floor\""]);
    check(
        "bps = 30",
        "bps = 36",
        &["aggregate_cap_bps: at least the sum"],
    );
    // In one case, an address has one wrong digit, and the message shows both spellings. In the
    // other, the parts are missing that the example leaves to its reader.
    check(
        "0xC06ebbefD94032B85424D51906e2A335EFAe264B",
        "0xC06ebbefD94032B85424D51906e2A335EFAe264C",
        &[
            "recipients[1].address: expected 0x",
            "observed 0xC06ebbefD94032B85424D51906e2A335EFAe264C",
        ],
    );
    check(
        "address = \"0xC06ebbefD94032B85424D51906e2A335EFAe264B\"",
        "address = \"0xYOUR_OWN_ADDRESS\"",
        &["recipients[1].address: expected an address of your own"],
    );
    // The tool names every problem, and not only the first one.
    let case = Case::of("swap")
        .edit_fees("role = \"own\"", "role = \"aggregator\"")
        .edit_fees("\"B/forwarder-v2\"", "\"A\"");
    unusable(&case.run(), &["fee_model: ", "recipients: exactly one"]);
}
