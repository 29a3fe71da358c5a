//! Renders prices and JSON. The text is identical in every build.

use serde_json::Value as Json;
use x402_wire::MicroUsd;

/// Writes a price as `$0.10` or `$0.001`.
#[must_use]
pub fn dollars(price: MicroUsd) -> String {
    let text = price.to_string();
    let digits = text.split_once('.').map_or(0, |(_, digits)| digits.len());
    match digits {
        0 => format!("${text}.00"),
        1 => format!("${text}0"),
        _ => format!("${text}"),
    }
}

/// Writes compact ASCII JSON. Sorts the members of every object by name, so that the text does not
/// depend on the map type of the build.
pub(crate) fn sorted_ascii_json(json: &Json) -> String {
    // Writing JSON as JSON cannot fail.
    x402_wire::ascii_json(&sorted(json.clone())).unwrap_or_default()
}

/// Writes the sorted JSON with indents, in UTF-8.
pub(crate) fn sorted_pretty_json(json: Json) -> String {
    format!("{:#}\n", sorted(json))
}

pub(crate) fn sorted(json: Json) -> Json {
    match json {
        Json::Object(members) => {
            let mut members: Vec<_> = members.into_iter().collect();
            members.sort_by(|(one, _), (other, _)| one.cmp(other));
            members
                .into_iter()
                .map(|(name, member)| (name, sorted(member)))
                .collect()
        }
        Json::Array(entries) => entries.into_iter().map(sorted).collect(),
        scalar => scalar,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prices_have_at_least_two_fraction_digits() {
        for (price, text) in [
            ("0.1", "$0.10"),
            ("0.05", "$0.05"),
            ("0.001", "$0.001"),
            ("2", "$2.00"),
        ] {
            assert_eq!(dollars(MicroUsd::dollars(price)), text);
        }
    }
}
