//! A probe's results for people and for programs.

use serde_json::{Value, json};

use super::row::{Row, exit_code, nothing};

/// Widest column of words.
const WIDEST: usize = 64;

/// The table for people: one line for each source, and below it the problems.
#[must_use]
pub fn table(rows: &[Row]) -> String {
    let heads = [
        "upstream", "source", "state", "reach", "key", "parsed", "age", "quota", "serves",
    ];
    let lines: Vec<[String; 9]> = rows.iter().map(cells).collect();
    let mut widths: Vec<usize> = heads.iter().map(|head| head.len()).collect();
    for line in &lines {
        for (width, cell) in widths.iter_mut().zip(line) {
            *width = (*width).max(cell.chars().count()).min(WIDEST);
        }
    }
    let render = |cells: &[String]| {
        let padded = cells
            .iter()
            .zip(&widths)
            .map(|(cell, width)| format!("{cell:<width$}"));
        let line: Vec<String> = padded.collect();
        line.join("  ").trim_end().to_owned()
    };
    let mut text = vec![render(&heads.map(str::to_owned))];
    for (row, line) in rows.iter().zip(&lines) {
        text.push(render(line));
        if row.changes.is_empty() {
            text.extend(row.detail.iter().map(|detail| format!("    {detail}")));
        } else {
            text.extend(row.changes.iter().map(|change| format!("    {change}")));
        }
    }
    text.push(summary(rows));
    text.join("\n")
}

fn cells(row: &Row) -> [String; 9] {
    let word = |known: Option<bool>| match known {
        Some(true) => "yes",
        Some(false) => "no",
        None => "-",
    };
    let number = |known: Option<u64>| known.map_or_else(|| "-".to_owned(), |n| n.to_string());
    [
        row.upstream.clone(),
        row.source.to_owned(),
        row.state.as_str().to_owned(),
        word(row.reachable).to_owned(),
        word(row.authenticated).to_owned(),
        word(row.parsed).to_owned(),
        row.age_seconds.map_or_else(|| "-".to_owned(), age),
        number(row.quota_left),
        row.serves.join(", "),
    ]
}

/// An age, in the largest unit of which it has at least two.
fn age(seconds: u64) -> String {
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7_200 => format!("{} min", seconds / 60),
        7_200..172_800 => format!("{} h", seconds / 3_600),
        _ => format!("{} d", seconds / 86_400),
    }
}

fn summary(rows: &[Row]) -> String {
    if nothing(rows) {
        return "no upstream is switched on".to_owned();
    }
    let count = |code: u8| {
        rows.iter()
            .filter(|row| row.state.exit_code() == code)
            .count()
    };
    let tolerated: u64 = rows
        .iter()
        .map(|row| row.tolerated)
        .fold(0, u64::saturating_add);
    format!(
        "{} sources: {} as they should be or not asked, {} not reached, {} broken; {tolerated} unknown members tolerated",
        rows.len(),
        count(0),
        count(1),
        count(2)
    )
}

/// The document for programs.
#[must_use]
pub fn document(rows: &[Row], at: &str) -> Value {
    json!({ "probed_at": at, "exit_code": exit_code(rows), "sources": rows })
}

#[cfg(test)]
mod tests {
    use super::super::row::{Row, State};
    use super::*;

    #[test]
    fn errors_are_printed_below_their_source() {
        let mut good = Row::nothing("okx", "okx.swap");
        good.reachable = Some(true);
        good.age_seconds = Some(7_200);
        good.serves = vec!["/swap"];
        let bad = Row::unasked("fred", "fred.series", State::Disabled, "no api key");
        let text = table(&[good, bad]);
        let lines: Vec<Vec<&str>> = text
            .lines()
            .map(|line| line.split_whitespace().collect())
            .collect();
        assert_eq!(
            lines[1],
            [
                "okx", "okx.swap", "ok", "yes", "-", "-", "2", "h", "-", "/swap"
            ]
        );
        assert_eq!(lines[2][..3], ["fred", "fred.series", "disabled"]);
        assert_eq!(lines[3], ["no", "api", "key"]);
        assert!(text.ends_with(
            "2 as they should be or not asked, 0 not reached, 0 broken; 0 unknown members tolerated"
        ));
    }
}
