//! JSON text that is the same in every build.

use serde_json::Value as Json;

/// Compact ASCII JSON with the members of every object sorted by name, whatever order the map type
/// of the build keeps.
pub(crate) fn sorted_ascii_json(json: &Json) -> String {
    x402_wire::ascii_json(&sorted(json.clone()))
}

/// The same, indented, and in UTF-8.
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
