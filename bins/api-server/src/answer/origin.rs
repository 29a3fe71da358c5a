//! The source of each member of an answer, for `provenance=1`.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::Value;

/// The source of a member of `data`.
#[derive(Debug, Clone)]
pub(crate) struct Origin {
    field: Cow<'static, str>,
    pub(super) source: &'static str,
    pub(super) method: Method,
}

impl Origin {
    /// `field` is a path below `data`. `/` separates its members, and `*` stands for each element
    /// of a list.
    pub(crate) fn new(
        field: impl Into<Cow<'static, str>>,
        source: &'static str,
        method: Method,
    ) -> Self {
        Self {
            field: field.into(),
            source,
            method,
        }
    }

    /// The paths in an answer, with an index in place of each `*`. List elements that lack the
    /// member are left out. A path without `*` stays as it is.
    pub(super) fn paths(&self, data: &Value) -> Vec<String> {
        let mut paths = Vec::new();
        match self.field.contains('*') {
            true => each_path(data, &self.field, "/data", &mut paths),
            false => paths.push(format!("/data/{}", self.field)),
        }
        paths
    }
}

/// The way in which a member was obtained.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Method {
    /// Copied from the source.
    Direct,
    /// Computed from the source's data.
    Derived,
    /// The median over several sources.
    Median,
}

fn each_path(value: &Value, field: &str, above: &str, paths: &mut Vec<String>) {
    let Some((list, rest)) = field.split_once("/*/") else {
        if value.pointer(&format!("/{field}")).is_some() {
            paths.push(format!("{above}/{field}"));
        }
        return;
    };
    let items = value.pointer(&format!("/{list}")).and_then(Value::as_array);
    for (at, item) in items.into_iter().flatten().enumerate() {
        each_path(item, rest, &format!("{above}/{list}/{at}"), paths);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_path_with_a_star_is_one_of_each_element() {
        let data = json!({"rows": [{"a": {"b": 1}}, {"c": 1}, {"a": {"b": null}}], "x": [{"y": [{"z": 1}, {"z": 2}]}]});
        let paths = |field: &'static str| Origin::new(field, "s", Method::Direct).paths(&data);
        assert_eq!(
            paths("rows/*/a/b"),
            ["/data/rows/0/a/b", "/data/rows/2/a/b"]
        );
        assert_eq!(paths("x/*/y/*/z"), ["/data/x/0/y/0/z", "/data/x/0/y/1/z"]);
        assert_eq!(paths("rows"), ["/data/rows"]);
        assert_eq!(paths("none/*/a"), [""; 0]);
    }
}
