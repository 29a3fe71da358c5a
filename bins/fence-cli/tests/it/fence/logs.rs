//! Tests of `log verify`.

use delegation_fence::{LogEntry, LogEvent, LogHead};

use crate::fence::desk::{Desk, Refused as _};

/// A log of three records in the form that the service returns.
pub(crate) fn log() -> String {
    let mut head = LogHead::EMPTY;
    let events = [
        ("2026-11-21T01:00:00Z", LogEvent::Granted),
        ("2026-11-21T02:00:00Z", LogEvent::Limited),
        ("2026-11-22T01:00:00Z", LogEvent::Revoked),
    ];
    let records = events.map(|(at, event)| {
        head.append(LogEntry::new(at.parse().unwrap(), event))
            .unwrap()
            .to_json()
    });
    format!(
        "{{\"records\":[{}],\"next_cursor\":null}}",
        records.join(",")
    )
}

#[test]
fn a_log_is_verified_and_described() {
    let desk = Desk::new();
    desk.put("log.json", &log());
    let said = desk.run("log verify --in log.json");
    for part in [
        "   0  2026-11-21T01:00:00Z  granted\n",
        "   2  2026-11-22T01:00:00Z  revoked\n",
        "the log says that the grant was revoked\n",
        "\nverified: 3 records, the last with the hash 0x",
    ] {
        assert!(said.ok().stdout.contains(part), "{part}: {said:?}");
    }
    let json = desk.run("log verify --in log.json --json").json();
    assert_eq!(json["verified"]["records"], 3);
    assert_eq!(json["verified"]["revoked"], true);
}

#[test]
fn a_changed_moved_or_missing_record_is_found() {
    let desk = Desk::new();
    let good = log();
    let check = |text: &str, code: &str| {
        desk.put("log.json", text);
        desk.run("log verify --in log.json").refused_by(code);
    };
    check(&good.replace("limited", "granted"), "log_hash");
    let mut value: serde_json::Value = serde_json::from_str(&good).unwrap();
    let records = value["records"].as_array_mut().unwrap();
    records.remove(1);
    check(&value.to_string(), "log_sequence");
    check("{}", "log_malformed");
    check("", "log_malformed");
    desk.put("log.json", &good);
    desk.run("log verify --in log.json --receipt log.json")
        .refused_by("typed_data_malformed");
    desk.run("log verify --in absent")
        .error(3, &["absent: No such file"]);
    desk.run("log verify --in - --receipt -")
        .error(2, &["only one file"]);
}
