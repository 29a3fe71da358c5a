//! JSON Schemas of rules and of example answers, and examples as JSON.

use serde_json::{Map, Value as Json, json};

use crate::{
    Constraint, Parameter, Rule,
    rule::{MAX_LINE_ENTRY_CHARS, MAX_SYMBOL_CHARS, chain_list},
};

/// How much a schema contains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Detail {
    /// Types and bounds only, for the 402 answer.
    Compact,
    /// With descriptions, examples and defaults, for OpenAPI.
    Full,
}

/// Makes the JSON Schema of one parameter's value.
pub(crate) fn of_parameter(parameter: &Parameter, detail: Detail) -> Json {
    let mut schema = of_rule(&parameter.rule, detail);
    if let (Detail::Full, Some(members)) = (detail, schema.as_object_mut()) {
        members.insert("description".into(), describe(parameter).into());
        if let Some(default) = parameter.default() {
            members.insert("default".into(), example(&parameter.rule, default));
        }
    }
    schema
}

/// Makes the schema of an object with these members and no others.
pub(crate) fn of_members(
    members: &[Parameter],
    constraints: &[Constraint],
    detail: Detail,
) -> Json {
    let mut schema = open_object(members.iter(), detail);
    if let Some(object) = schema.as_object_mut() {
        object.insert("additionalProperties".into(), false.into());
        let groups: Vec<Json> = constraints
            .iter()
            .filter(|_| detail == Detail::Full)
            .filter_map(group)
            .collect();
        if !groups.is_empty() {
            object.insert("allOf".into(), groups.into());
        }
    }
    schema
}

/// Makes the schema of an object that may have further members.
pub(crate) fn open_object<'a>(
    members: impl Iterator<Item = &'a Parameter> + Clone,
    detail: Detail,
) -> Json {
    let properties: Map<String, Json> = members
        .clone()
        .map(|member| (member.name.to_owned(), of_parameter(member, detail)))
        .collect();
    let required: Vec<_> = members
        .filter(|member| member.is_required())
        .map(|member| member.name)
        .collect();
    let mut schema = json!({"type": "object", "properties": properties});
    if let (false, Some(object)) = (required.is_empty(), schema.as_object_mut()) {
        object.insert("required".into(), required.into());
    }
    schema
}

/// Returns the meaning and the rule of the parameter in words.
pub(crate) fn describe(parameter: &Parameter) -> String {
    match parameter.rule {
        Rule::Chain(set) | Rule::Chains(set) => {
            format!("{} One of {}.", parameter.description, chain_list(set))
        }
        Rule::Decimal { min, max } => format!("{} From {min} to {max}.", parameter.description),
        Rule::Timestamp => {
            format!("{} RFC 3339, or unix milliseconds.", parameter.description)
        }
        _ => parameter.description.to_owned(),
    }
}

fn of_rule(rule: &Rule, detail: Detail) -> Json {
    match *rule {
        Rule::Address => text_pattern("^0x[a-fA-F0-9]{40}$"),
        Rule::Hash => text_pattern("^0x[a-fA-F0-9]{64}$"),
        Rule::Bytes { .. } => text_pattern("^0x([a-fA-F0-9]{2})+$"),
        Rule::Uint256 => {
            json!({"type": "string", "pattern": "^\\d+$", "maxLength": exact::MAX_UINT_DIGITS})
        }
        Rule::Amount | Rule::Decimal { .. } => text_pattern("^\\d+(\\.\\d+)?$"),
        Rule::AmountOr(word) => text_pattern(&format!("^({word}|\\d+(\\.\\d+)?)$")),
        Rule::Symbol => text_length(MAX_SYMBOL_CHARS),
        Rule::Line { max } | Rule::Prompt { max } => text_length(max),
        Rule::Choice(words) => json!({"type": "string", "enum": words}),
        Rule::Chain(_) => json!({"type": ["string", "integer"]}),
        Rule::Chains(_) => json!({
            "type": ["string", "array"],
            "items": {"type": ["string", "integer"]},
        }),
        Rule::Integer { min, max } => {
            json!({"type": "integer", "minimum": min, "maximum": max})
        }
        Rule::Flag => json!({"type": "string", "enum": ["1", "0", "true", "false"]}),
        Rule::Boolean => json!({"type": "boolean"}),
        Rule::Cursor => json!({"type": "string"}),
        Rule::Timestamp => json!({"type": ["string", "integer"]}),
        Rule::Lines { max } => json!({
            "type": "array",
            "items": text_length(MAX_LINE_ENTRY_CHARS),
            "minItems": 1,
            "maxItems": max,
        }),
        // A header has room for one level only. OpenAPI has all levels.
        Rule::Object(members) if detail == Detail::Compact && members.iter().any(nests) => {
            json!({"type": "object"})
        }
        Rule::Object(members) => of_members(members, &[], detail),
    }
}

/// Returns the one JSON type with which a buyer that knows no rules sends a value. Every value may
/// also be sent as text.
pub(crate) const fn flat_type(rule: &Rule) -> &'static str {
    match rule {
        Rule::Integer { .. } => "integer",
        Rule::Boolean => "boolean",
        Rule::Object(_) => "object",
        Rule::Lines { .. } => "array",
        _ => "string",
    }
}

const fn nests(member: &Parameter) -> bool {
    matches!(member.rule, Rule::Object(_))
}

fn text_pattern(pattern: &str) -> Json {
    json!({"type": "string", "pattern": pattern})
}

fn text_length(max: usize) -> Json {
    json!({"type": "string", "minLength": 1, "maxLength": max})
}

fn group(constraint: &Constraint) -> Option<Json> {
    match constraint {
        Constraint::ExactlyOne(names) => {
            let alternatives: Vec<_> = names
                .iter()
                .map(|name| json!({"required": [name]}))
                .collect();
            Some(json!({"oneOf": alternatives}))
        }
        _ => None,
    }
}

/// Converts a value's text form to the JSON that a body has for it.
pub(crate) fn example(rule: &Rule, text: &str) -> Json {
    match *rule {
        Rule::Integer { .. } | Rule::Chain(_) => {
            text.parse::<u64>().map_or_else(|_| text.into(), Json::from)
        }
        Rule::Boolean => (text == "true").into(),
        Rule::Chains(_) | Rule::Lines { .. } => {
            let item = |entry: &str| {
                entry
                    .parse::<u64>()
                    .map_or_else(|_| entry.into(), Json::from)
            };
            text.split(',').map(item).collect()
        }
        Rule::Object(members) => examples(members.iter()),
        _ => text.into(),
    }
}

impl Parameter {
    /// Returns the example as a JSON body has it.
    pub fn example_json(&self) -> Json {
        example(&self.rule, self.example)
    }
}

/// Returns the examples of the members as one object.
pub(crate) fn examples<'a>(members: impl Iterator<Item = &'a Parameter>) -> Json {
    members
        .map(|member| (member.name.to_owned(), member.example_json()))
        .collect::<Map<_, _>>()
        .into()
}

/// Makes a schema that the example answer and similar answers satisfy. It has the types of the
/// example. Every member of an object may be null, because an unavailable reading is null and is
/// listed in `meta.unavailable`. A member that is null in the example may have any type.
pub(crate) fn of_answer(example: &Json) -> Json {
    match example {
        Json::Object(members) => {
            let properties: Map<String, Json> = members
                .iter()
                .map(|(name, member)| (name.clone(), nullable(of_answer(member))))
                .collect();
            json!({"type": "object", "properties": properties})
        }
        Json::Array(entries) => {
            let items = entries.first().map_or_else(|| json!({}), of_answer);
            json!({"type": "array", "items": items})
        }
        Json::String(_) => json!({"type": "string"}),
        Json::Number(_) => json!({"type": "integer"}),
        Json::Bool(_) => json!({"type": "boolean"}),
        Json::Null => json!({}),
    }
}

fn nullable(mut schema: Json) -> Json {
    if let Some(kind) = schema.get_mut("type") {
        *kind = json!([kind.take(), "null"]);
    }
    schema
}
