//! The `data` object of an answer, with its cached JSON text.
//!
//! The value does not change after it is made, so every answer with the same object shares its
//! text.

use std::collections::BTreeSet;
use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use serde_json::Value;

/// The usual size of an object's text; longer texts take more.
const USUAL_BYTES: usize = 1024;

/// A route's own object. Its text and its `null` paths are computed once and shared by all answers
/// that hold the object.
#[derive(Debug, Clone, Default)]
pub(crate) struct Object(Arc<Kept>);

#[derive(Debug, Default)]
struct Kept {
    value: Value,
    text: OnceLock<Vec<u8>>,
    nulls: OnceLock<BTreeSet<String>>,
}

impl Object {
    /// Returns the value, to embed it in another object.
    pub(crate) fn into_value(self) -> Value {
        Arc::try_unwrap(self.0).map_or_else(|kept| kept.value.clone(), |kept| kept.value)
    }

    /// The object as JSON text.
    pub(super) fn text(&self) -> &[u8] {
        self.0.text.get_or_init(|| {
            let mut text = Vec::with_capacity(USUAL_BYTES);
            if let Err(error) = serde_json::to_writer(&mut text, &self.0.value) {
                tracing::error!(%error, "an answer cannot be serialised");
            }
            text
        })
    }

    /// The paths of all `null` members, starting with `data`; `[]` stands for any element of a
    /// list.
    pub(super) fn nulls(&self) -> &BTreeSet<String> {
        self.0.nulls.get_or_init(|| {
            let mut nulls = BTreeSet::new();
            collect_nulls(&self.0.value, &mut "data".to_owned(), &mut nulls);
            nulls
        })
    }
}

impl From<Value> for Object {
    fn from(value: Value) -> Self {
        Self(Arc::new(Kept {
            value,
            ..Kept::default()
        }))
    }
}

impl Deref for Object {
    type Target = Value;

    fn deref(&self) -> &Value {
        &self.0.value
    }
}

/// The last object that a route rendered. Calls for the same part of the same data share it.
pub(crate) struct LastRendered<T: ?Sized, P = ()>(Mutex<Option<Rendered<T, P>>>);

struct Rendered<T: ?Sized, P> {
    of: Arc<T>,
    part: P,
    object: Object,
}

impl<T: ?Sized, P: PartialEq> LastRendered<T, P> {
    /// Returns the object for `part` of `of`. Calls `render` only if the cached object is for other
    /// data or another part.
    pub(crate) fn object(&self, of: &Arc<T>, part: P, render: impl FnOnce() -> Value) -> Object {
        let last = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let same =
            |rendered: &&Rendered<T, P>| Arc::ptr_eq(&rendered.of, of) && rendered.part == part;
        if let Some(rendered) = last().as_ref().filter(same) {
            return rendered.object.clone();
        }
        let object = Object::from(render());
        *last() = Some(Rendered {
            of: of.clone(),
            part,
            object: object.clone(),
        });
        object
    }
}

impl<T: ?Sized, P> Default for LastRendered<T, P> {
    fn default() -> Self {
        Self(Mutex::new(None))
    }
}

impl<T: ?Sized, P> fmt::Debug for LastRendered<T, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LastRendered")
    }
}

fn collect_nulls(value: &Value, path: &mut String, nulls: &mut BTreeSet<String>) {
    let length = path.len();
    match value {
        Value::Null => {
            nulls.insert(path.clone());
        }
        Value::Array(items) => {
            path.push_str("[]");
            for item in items {
                collect_nulls(item, path, nulls);
            }
        }
        Value::Object(members) => {
            for (name, member) in members {
                path.push('.');
                path.push_str(name);
                collect_nulls(member, path, nulls);
                path.truncate(length);
            }
        }
        _ => {}
    }
    path.truncate(length);
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_object_is_reused_for_the_same_data_only() {
        let last = LastRendered::default();
        let (old, new): (Arc<[u8]>, Arc<[u8]>) = (Arc::from([1]), Arc::from([1]));
        let render = |of: &Arc<[u8]>, part: usize, value: &str| {
            last.object(of, part, || json!(value)).into_value()
        };
        assert_eq!(render(&old, 1, "first"), "first");
        assert_eq!(render(&old, 1, "never made"), "first");
        assert_eq!(render(&old, 2, "other part"), "other part");
        assert_eq!(render(&new, 2, "other data"), "other data");
        assert_eq!(render(&old, 2, "made again"), "made again");
    }
}
