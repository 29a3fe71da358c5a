//! Reads the parameters of a request by the rules of its route, and reports all problems at once.

use std::borrow::Cow;

use crate::{
    Constraint, Parameter, Parameters, Presence, Problem, Route, Rule, Value,
    body::Json,
    common_query::COMMON_QUERY,
    problem::{MAX_PROBLEMS, ParameterFault, path_segment},
    query, rule,
};

impl Route {
    /// Reads the parameters of a request from the raw query (without `?`) and the raw body.
    ///
    /// An unknown query parameter is refused by name, with the nearest known one: a misspelt name
    /// would otherwise buy the answer to another question. Only routes that declare a body read
    /// one. The body must be a JSON object; unknown and repeated keys are refused by name. Every
    /// value may be text: a number or a boolean in its text form, a list or an object as JSON, and
    /// a list of chains also with commas. Otherwise nothing is guessed: a number is a problem where
    /// a string is declared.
    ///
    /// # Errors
    ///
    /// Every [`Problem`] of the request with its path, up to a bound. A last problem says when
    /// there are more.
    ///
    /// ```
    /// use route_catalog::Operation;
    ///
    /// let route = Operation::Approve.route();
    /// let problems = route.parse(Some("token=0x12&amount=-1"), b"").unwrap_err();
    /// let paths: Vec<_> = problems.iter().map(|problem| problem.path.as_str()).collect();
    /// assert_eq!(paths, ["query.token", "query.amount"]);
    /// ```
    pub fn parse(&self, query: Option<&str>, body: &[u8]) -> Result<Parameters, Vec<Problem>> {
        let mut reading = Reading::default();
        reading.query(self, query.unwrap_or_default());
        if self.takes_body() {
            reading.body(self.body, body);
        }
        let Reading {
            parameters,
            mut problems,
        } = reading;
        for constraint in self.constraints {
            // A refused value says nothing about its relation to other values.
            let sound = constraint.names().all(|name| {
                let path = format!("{}.{name}", self.place());
                problems.iter().all(|problem| problem.path != path)
            });
            if sound {
                problems.extend(constraint.check(&parameters, self.place()));
            }
        }
        if problems.is_empty() {
            return Ok(parameters);
        }
        if problems.len() > MAX_PROBLEMS {
            problems.truncate(MAX_PROBLEMS);
            problems.push(Problem::new(
                "request",
                ParameterFault::TooMany {
                    reported: MAX_PROBLEMS,
                },
            ));
        }
        Err(problems)
    }
}

#[derive(Default)]
struct Reading {
    parameters: Parameters,
    problems: Vec<Problem>,
}

impl Reading {
    fn query(&mut self, route: &Route, query: &str) {
        let declared = || route.query.iter().chain(&COMMON_QUERY);
        let mut given: Vec<(&Parameter, &str)> = Vec::new();
        for (raw_name, raw_value) in query::pairs(query) {
            match query::decode(raw_name) {
                Err(fault) => self.problem("query", fault),
                Ok(name) => match declared().find(|parameter| parameter.name == name) {
                    Some(parameter) => given.push((parameter, raw_value)),
                    None => {
                        let path = format!("query.{}", path_segment(&name));
                        self.problem(path, unknown(&name, declared()));
                    }
                },
            }
        }
        for parameter in declared() {
            let path = || format!("query.{}", parameter.name);
            let mut raw = given
                .iter()
                .filter(|(known, _)| known.name == parameter.name);
            let read = match (raw.next(), raw.count()) {
                (None, _) => read_absent(parameter),
                (Some((_, raw)), 0) => query::decode(raw)
                    .and_then(|text| parameter.rule.read_text(&text))
                    .map(Some),
                (Some(_), more) => Err(ParameterFault::Duplicate {
                    observed: more.saturating_add(1),
                }),
            };
            self.keep(parameter, read, path);
        }
    }

    fn body(&mut self, declared: &'static [Parameter], body: &[u8]) {
        match Json::parse(body) {
            Ok(Json::Object(members)) => self.members(declared, &members, "body"),
            Ok(other) => {
                let expected = "a JSON object".to_owned();
                self.problem(
                    "body",
                    ParameterFault::WrongType {
                        expected,
                        observed: other.kind(),
                    },
                );
            }
            Err(fault) => self.problem("body", fault),
        }
    }

    fn members(&mut self, declared: &'static [Parameter], given: &[(String, Json)], place: &str) {
        let known = |key: &str| declared.iter().any(|parameter| parameter.name == key);
        let mut seen: Vec<&str> = Vec::new();
        for (key, _) in given.iter().filter(|(key, _)| !known(key)) {
            if !seen.contains(&key.as_str()) {
                seen.push(key);
                let path = format!("{place}.{}", path_segment(key));
                self.problem(path, unknown(key, declared.iter()));
            }
        }
        for parameter in declared {
            let path = format!("{place}.{}", parameter.name);
            let mut values = given.iter().filter(|(key, _)| key == parameter.name);
            let read = match (values.next(), values.count()) {
                (None, _) => read_absent(parameter),
                (Some((_, json)), 0) => match (parameter.rule, &*unquoted(&parameter.rule, json)) {
                    (Rule::Object(inner), Json::Object(members)) => {
                        let mut nested = Self::default();
                        nested.members(inner, members, &path);
                        self.problems.append(&mut nested.problems);
                        Ok(Some(Value::Object(nested.parameters)))
                    }
                    (rule, json) => read_json(&rule, json).map(Some),
                },
                (Some(_), more) => Err(ParameterFault::Duplicate {
                    observed: more.saturating_add(1),
                }),
            };
            self.keep(parameter, read, || path);
        }
    }

    fn keep(
        &mut self,
        parameter: &Parameter,
        read: Result<Option<Value>, ParameterFault>,
        path: impl FnOnce() -> String,
    ) {
        match read {
            Ok(Some(value)) => self.parameters.insert(parameter.name, value),
            Ok(None) => {}
            Err(fault) => self.problem(path(), fault),
        }
    }

    fn problem(&mut self, path: impl Into<String>, fault: ParameterFault) {
        // One problem more than is reported shows that there are more.
        if self.problems.len() <= MAX_PROBLEMS {
            self.problems.push(Problem::new(path, fault));
        }
    }
}

fn read_absent(parameter: &Parameter) -> Result<Option<Value>, ParameterFault> {
    match parameter.presence {
        Presence::Required => Err(ParameterFault::Missing {
            expected: parameter.rule.expected(),
        }),
        Presence::Optional => Ok(None),
        Presence::Default(text) => parameter.rule.read_text(text).map(Some),
    }
}

/// Returns the object or the list whose JSON a text holds, when the rule asks for one. Some buyers
/// send every value as text.
fn unquoted<'a>(rule: &Rule, json: &'a Json) -> Cow<'a, Json> {
    if let (Rule::Object(_) | Rule::Lines { .. } | Rule::Chains(_), Json::Text(text)) = (rule, json)
        && let Ok(inner @ (Json::Object(_) | Json::List(_))) = Json::parse(text.as_bytes())
    {
        return Cow::Owned(inner);
    }
    Cow::Borrowed(json)
}

/// Reads a JSON value by its rule. The caller reads objects.
fn read_json(rule: &Rule, json: &Json) -> Result<Value, ParameterFault> {
    let wrong_type = || ParameterFault::WrongType {
        expected: rule.expected(),
        observed: json.kind(),
    };
    match (rule, json) {
        (Rule::Boolean, Json::Boolean(boolean)) => Ok(Value::Boolean(*boolean)),
        (Rule::Chains(set), Json::List(entries)) => {
            let texts: Option<Vec<_>> = entries
                .iter()
                .map(|entry| match entry {
                    Json::Text(text) => Some(text.clone()),
                    Json::Integer(id) => Some(id.to_string()),
                    _ => None,
                })
                .collect();
            texts
                .and_then(|texts| rule::chains(set, texts.iter().map(String::as_str)))
                .map(Value::Chains)
                .ok_or_else(|| ParameterFault::Invalid {
                    expected: rule.expected(),
                    observed: format!("a list of {} entries", entries.len()),
                })
        }
        (Rule::Lines { max }, Json::List(entries)) => {
            let lines = entries.iter().map(|entry| match entry {
                Json::Text(text) => rule::line_entry(text),
                _ => None,
            });
            lines
                .collect::<Option<Vec<_>>>()
                .filter(|lines| (1..=*max).contains(&lines.len()))
                .map(Value::Lines)
                .ok_or_else(|| ParameterFault::Invalid {
                    expected: rule.expected(),
                    observed: format!("a list of {} entries", entries.len()),
                })
        }
        (Rule::Lines { .. } | Rule::Object(_), _) => Err(wrong_type()),
        (Rule::Integer { .. } | Rule::Chain(_) | Rule::Timestamp, Json::Integer(integer)) => {
            rule.read_text(&integer.to_string())
        }
        (_, Json::Text(text)) => rule.read_text(text),
        _ => Err(wrong_type()),
    }
}

fn unknown<'a>(given: &str, declared: impl Iterator<Item = &'a Parameter>) -> ParameterFault {
    let names: Vec<_> = declared.map(|parameter| parameter.name).collect();
    ParameterFault::Unknown {
        nearest: nearest(given, &names),
        expected: names.join(", "),
    }
}

/// Returns the name that the caller probably means: one that differs in at most a third of its
/// letters. A letter too many, too few, wrong, or at its neighbour's place is one difference; case
/// and underscores are none.
fn nearest(given: &str, names: &[&'static str]) -> Option<&'static str> {
    const LONGEST: usize = 64;
    let letters = |name: &str| -> Vec<char> {
        let letters = name.chars().filter(|c| *c != '_' && *c != '-');
        letters.flat_map(char::to_lowercase).take(LONGEST).collect()
    };
    let given = letters(given);
    let candidates = names.iter().filter_map(|name| {
        let known = letters(name);
        let differences = differences(&given, &known);
        (differences <= known.len().div_ceil(3)).then_some((differences, *name))
    });
    let nearest = candidates.min_by_key(|(differences, _)| *differences);
    nearest.map(|(_, name)| name)
}

/// Counts the differences between two words (optimal string alignment).
fn differences(one: &[char], other: &[char]) -> usize {
    // The rows of the usual table: the one before the last, the last, and the current one.
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=other.len()).collect();
    for (row, letter) in one.iter().enumerate() {
        let mut current = vec![row.saturating_add(1)];
        for (column, known) in other.iter().enumerate() {
            let at = |row: &[usize], column: usize| row.get(column).copied().unwrap_or(usize::MAX);
            let swapped = row > 0
                && column > 0
                && one.get(row.wrapping_sub(1)) == Some(known)
                && other.get(column.wrapping_sub(1)) == Some(letter);
            let mut least = at(&last, column).saturating_add(usize::from(letter != known));
            least = least.min(at(&last, column.saturating_add(1)).saturating_add(1));
            least = least.min(at(&current, column).saturating_add(1));
            if swapped {
                least = least.min(at(&before, column.wrapping_sub(1)).saturating_add(1));
            }
            current.push(least);
        }
        before = std::mem::replace(&mut last, current);
    }
    last.last().copied().unwrap_or(usize::MAX)
}

impl Constraint {
    fn names(&self) -> impl Iterator<Item = &'static str> {
        let (pair, group): ([Option<&'static str>; 2], &'static [&'static str]) = match *self {
            Self::Differ(one, other) | Self::Requires(one, other) | Self::Ordered(one, other) => {
                ([Some(one), Some(other)], &[])
            }
            Self::ExactlyOne(names) | Self::AtMostOne(names) => ([None, None], names),
        };
        pair.into_iter().flatten().chain(group.iter().copied())
    }

    fn check(&self, parameters: &Parameters, place: &str) -> Option<Problem> {
        let problem = |name: &str, fault| Some(Problem::new(format!("{place}.{name}"), fault));
        let given = |names: &[&str]| {
            names
                .iter()
                .filter(|name| parameters.value(name).is_some())
                .count()
        };
        match *self {
            Self::Differ(one, other) => {
                let same = match (parameters.value(one)?, parameters.value(other)?) {
                    (Value::Text(one), Value::Text(other)) => {
                        one.to_lowercase() == other.to_lowercase()
                    }
                    (one, other) => one == other,
                };
                if same {
                    problem(other, ParameterFault::Same { other: one })
                } else {
                    None
                }
            }
            Self::ExactlyOne(names) => match given(names) {
                1 => None,
                observed => Some(Problem::new(
                    place,
                    ParameterFault::NotExactlyOne { names, observed },
                )),
            },
            Self::AtMostOne(names) => match given(names) {
                0 | 1 => None,
                observed => Some(Problem::new(
                    place,
                    ParameterFault::MoreThanOne { names, observed },
                )),
            },
            Self::Requires(one, other) => match given(&[one]) > given(&[other]) {
                true => problem(one, ParameterFault::Alone { other }),
                false => None,
            },
            Self::Ordered(start, end) => {
                let (from, to) = (
                    parameters.timestamp_ms(start)?,
                    parameters.timestamp_ms(end)?,
                );
                if to < from {
                    problem(end, ParameterFault::Before { other: start })
                } else {
                    None
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_name_has_a_nearest_one() {
        let names = ["address", "chain", "max_age", "provenance"];
        for (given, meant) in [
            ("chian", Some("chain")),
            ("chains", Some("chain")),
            ("Chain", Some("chain")),
            ("cain", Some("chain")),
            ("chainId", Some("chain")),
            ("adress", Some("address")),
            ("addr", Some("address")),
            ("maxAge", Some("max_age")),
            ("max-age", Some("max_age")),
            ("provenence", Some("provenance")),
            ("symbol", None),
            ("x", None),
            ("", None),
        ] {
            assert_eq!(nearest(given, &names), meant, "{given}");
        }
        assert_eq!(nearest("chain", &[]), None);
    }

    #[test]
    fn differences_are_counted_by_letter() {
        for (one, other, count) in [
            ("", "", 0),
            ("abc", "abc", 0),
            ("", "abc", 3),
            ("abc", "", 3),
            ("abc", "acb", 1),
            ("abcd", "badc", 2),
            ("kitten", "sitting", 3),
        ] {
            let [one, other] = [one, other].map(|word| word.chars().collect::<Vec<_>>());
            assert_eq!(differences(&one, &other), count, "{one:?} {other:?}");
        }
    }
}
