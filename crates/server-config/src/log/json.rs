//! Writes a log line as one JSON object in which no name occurs twice.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Serialize, Serializer};
use serde_json::value::{RawValue, to_raw_value};
use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::fmt::format::{FormatEvent, JsonFields, Writer};
use tracing_subscriber::fmt::time::{FormatTime, SystemTime};
use tracing_subscriber::fmt::{FmtContext, FormattedFields};
use tracing_subscriber::registry::LookupSpan;

/// Writes `timestamp`, `level`, `target` and the fields of the event; the text of the event is
/// `message`. Inside spans it adds `spans`, from the outermost to the innermost, each with its
/// `name` and its fields.
///
/// A field whose name another member already has gets an underscore at its end, because readers may
/// refuse or drop members that occur twice.
pub(super) struct JsonLines;

impl<S> FormatEvent<S, JsonFields> for JsonLines
where
    S: Subscriber + for<'lookup> LookupSpan<'lookup>,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, JsonFields>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let mut timestamp = String::new();
        SystemTime.format_time(&mut Writer::new(&mut timestamp))?;
        let metadata = event.metadata();
        let mut line = Line::default();
        line.add("timestamp", &timestamp);
        line.add("level", metadata.level().as_str());
        line.add("target", metadata.target());
        event.record(&mut line);
        let spans = context.event_scope().into_iter();
        let spans = spans.flat_map(|scope| scope.from_root());
        let spans: Vec<Line> = spans
            .map(|span| {
                let mut members = Line::default();
                members.add("name", span.name());
                let extensions = span.extensions();
                let fields = extensions.get::<FormattedFields<JsonFields>>();
                let fields = fields.and_then(|text| serde_json::from_str(text).ok());
                let fields: BTreeMap<String, Box<RawValue>> = fields.unwrap_or_default();
                for (name, value) in &fields {
                    members.add(name, value);
                }
                members
            })
            .collect();
        if !spans.is_empty() {
            line.add("spans", &spans);
        }
        let line = serde_json::to_string(&line).map_err(|_| fmt::Error)?;
        writeln!(writer, "{line}")
    }
}

/// The members of one object, in the order in which they were added.
#[derive(Default)]
struct Line(Vec<(String, Box<RawValue>)>);

impl Line {
    fn add<T: Serialize + ?Sized>(&mut self, name: &str, value: &T) {
        // A field whose name is a keyword of Rust arrives as `r#name`.
        let mut name = name.trim_start_matches("r#").to_owned();
        while self.0.iter().any(|(taken, _)| *taken == name) {
            name.push('_');
        }
        // Every value here has a JSON form, so this never fails.
        if let Ok(value) = to_raw_value(value) {
            self.0.push((name, value));
        }
    }
}

impl Serialize for Line {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

impl Visit for Line {
    fn record_f64(&mut self, field: &Field, value: f64) {
        self.add(field.name(), &value);
    }
    fn record_i64(&mut self, field: &Field, value: i64) {
        self.add(field.name(), &value);
    }
    fn record_u64(&mut self, field: &Field, value: u64) {
        self.add(field.name(), &value);
    }
    fn record_u128(&mut self, field: &Field, value: u128) {
        match u64::try_from(value) {
            Ok(value) => self.add(field.name(), &value),
            // Common readers cannot read a JSON number of this size.
            Err(_) => self.add(field.name(), &value.to_string()),
        }
    }
    fn record_bool(&mut self, field: &Field, value: bool) {
        self.add(field.name(), &value);
    }
    fn record_str(&mut self, field: &Field, value: &str) {
        self.add(field.name(), value);
    }
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.add(field.name(), &format!("{value:?}"));
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::io;
    use std::sync::{Arc, Mutex};

    use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
    use tracing_subscriber::fmt::MakeWriter;
    use tracing_subscriber::layer::SubscriberExt;

    use super::super::json_layer;
    use super::*;

    #[derive(Clone, Default)]
    struct Memory(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Memory {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl MakeWriter<'_> for Memory {
        type Writer = Self;
        fn make_writer(&self) -> Self {
            self.clone()
        }
    }

    /// JSON in which no object has a member twice, at any depth.
    #[derive(Debug, PartialEq)]
    enum Strict {
        Object(BTreeMap<String, Strict>),
        Array(Vec<Strict>),
        Other(String),
    }

    impl<'de> Deserialize<'de> for Strict {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            struct Read;
            impl<'de> Visitor<'de> for Read {
                type Value = Strict;
                fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                    f.write_str("JSON")
                }
                fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Strict, A::Error> {
                    let mut members = BTreeMap::new();
                    while let Some((name, value)) = map.next_entry::<String, Strict>()? {
                        if members.insert(name.clone(), value).is_some() {
                            return Err(de::Error::custom(format!("{name} is there twice")));
                        }
                    }
                    Ok(Strict::Object(members))
                }
                fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Strict, A::Error> {
                    let mut items = Vec::new();
                    while let Some(item) = seq.next_element()? {
                        items.push(item);
                    }
                    Ok(Strict::Array(items))
                }
                fn visit_str<E>(self, text: &str) -> Result<Strict, E> {
                    Ok(Strict::Other(text.to_owned()))
                }
                fn visit_u64<E>(self, value: u64) -> Result<Strict, E> {
                    Ok(Strict::Other(value.to_string()))
                }
                fn visit_bool<E>(self, value: bool) -> Result<Strict, E> {
                    Ok(Strict::Other(value.to_string()))
                }
            }
            deserializer.deserialize_any(Read)
        }
    }

    fn member<'a>(object: &'a Strict, name: &str) -> &'a Strict {
        let Strict::Object(members) = object else {
            panic!("{object:?}")
        };
        members
            .get(name)
            .unwrap_or_else(|| panic!("no {name}: {object:?}"))
    }

    fn text(object: &Strict, name: &str) -> String {
        match member(object, name) {
            Strict::Other(text) => text.clone(),
            other => panic!("{name}: {other:?}"),
        }
    }

    #[test]
    fn the_reader_of_this_test_refuses_doubled_members() {
        assert!(serde_json::from_str::<Strict>(r#"{"a":1,"b":[{"c":1,"c":1}]}"#).is_err());
    }

    #[test]
    fn no_member_of_a_line_is_doubled_and_none_is_lost() {
        let memory = Memory::default();
        let log = tracing_subscriber::registry().with(json_layer(memory.clone()));
        tracing::subscriber::with_default(log, || {
            let span = tracing::info_span!("outer", name = "own", request_id = "r-1");
            let _entered = span.enter();
            let inner = tracing::info_span!("inner", request_id = tracing::field::Empty);
            inner.record("request_id", "r-2");
            inner.record("request_id", "r-3");
            let _entered = inner.enter();
            tracing::info!(
                request_id = "r-4",
                level = "high",
                target = "moon",
                timestamp = 7_u64,
                spans = true,
                milliseconds = 71_u128,
                message = "field",
                "text"
            );
        });
        tracing::subscriber::with_default(
            tracing_subscriber::registry().with(json_layer(memory.clone())),
            || tracing::warn!("plain \"quoted\"\n"),
        );
        let written = String::from_utf8(memory.0.lock().unwrap().clone()).unwrap();
        let lines: Vec<Strict> = written
            .lines()
            .map(|line| {
                serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))
            })
            .collect();
        assert!(written.starts_with("{\"timestamp\":\""), "{written}");
        let [full, plain] = &lines[..] else {
            panic!("{written}")
        };
        for (name, value) in [
            ("level", "INFO"),
            ("level_", "high"),
            ("target_", "moon"),
            ("timestamp_", "7"),
            ("request_id", "r-4"),
            ("milliseconds", "71"),
        ] {
            assert_eq!(text(full, name), value);
        }
        let messages = [text(full, "message"), text(full, "message_")];
        assert!(messages.contains(&"text".to_owned()) && messages.contains(&"field".to_owned()));
        let Strict::Array(spans) = member(full, "spans_") else {
            panic!("{full:?}")
        };
        assert_eq!(
            [text(&spans[0], "name"), text(&spans[0], "name_")],
            ["outer", "own"]
        );
        assert_eq!(text(&spans[1], "request_id"), "r-3");
        assert_eq!(text(plain, "message"), "plain \"quoted\"\n");
    }
}
