//! The stage of the tests of rails: the server, a chain, and recorded venues.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use alloy_primitives::{Address, hex};
use calldata_checks::Rail;
use replay::{Recordings, ReplayServer};
use serde_json::Value;
use test_support::process::Server;
use tokio::runtime::Runtime;

use crate::process::server::{Configured, RECIPIENT, RECORDED_RECIPIENT, post};

/// A server, and the venues that it asks.
pub(super) struct Stage {
    pub(super) server: Server,
    pub(super) address: SocketAddr,
    pub(super) tools: Vec<Value>,
    _configured: Configured,
    _venues: Venues,
}

pub(crate) struct Venues {
    replay: ReplayServer,
    _runtime: Runtime,
}

impl Venues {
    pub(crate) fn open() -> Self {
        Self::changed(|_, text| text)
    }

    /// Venues whose recordings a test changes, each by its file and its text.
    pub(super) fn changed(change: impl Fn(&str, String) -> String) -> Self {
        let runtime = Runtime::new().unwrap();
        let folder = recordings(change);
        let recordings = Recordings::load(folder.path()).unwrap().at(now());
        let replay = runtime.block_on(ReplayServer::start(recordings)).unwrap();
        Self {
            replay,
            _runtime: runtime,
        }
    }

    /// A configuration that treats the venues as live, because only live venues have limits.
    pub(crate) fn taken_for_live(&self) -> String {
        let url = |host| self.replay.base_url(host);
        format!(
            "server.listen = '127.0.0.1:0'\n\
             plans.allow_unread_accounts = true\n\
             upstreams.lifi.base_url = '{}/v1'\n\
             upstreams.circle.base_url = '{}'\n\
             upstreams.polymarket.clob_url = '{}'\n\
             upstreams.polymarket.gamma_url = '{}'\n\
             upstreams.hyperliquid.base_url = '{}'\n\
             upstreams.defillama.coins_url = '{}'\n\
             upstreams.dexscreener.base_url = '{}'\n",
            url("li.quest"),
            url("iris-api.circle.com"),
            url("clob.polymarket.com"),
            url("gamma-api.polymarket.com"),
            url("api.hyperliquid.xyz"),
            url("coins.llama.fi"),
            url("api.dexscreener.com"),
        )
    }

    pub(crate) fn configuration(&self) -> String {
        let url = |host| self.replay.base_url(host);
        format!(
            "server.listen = '127.0.0.1:0'\n\
             plans.allow_unread_accounts = true\n\
             upstreams.lifi = {{ mode = 'replay', base_url = '{}/v1' }}\n\
             upstreams.circle = {{ mode = 'replay', base_url = '{}' }}\n\
             upstreams.polymarket = {{ mode = 'replay', clob_url = '{}', gamma_url = '{}' }}\n\
             upstreams.hyperliquid = {{ mode = 'replay', base_url = '{}' }}\n\
             upstreams.defillama = {{ mode = 'replay', coins_url = '{}' }}\n\
             upstreams.dexscreener = {{ mode = 'replay', base_url = '{}' }}\n",
            url("li.quest"),
            url("iris-api.circle.com"),
            url("clob.polymarket.com"),
            url("gamma-api.polymarket.com"),
            url("api.hyperliquid.xyz"),
            url("coins.llama.fi"),
            url("api.dexscreener.com"),
        )
    }
}

/// The recorded answers of the rails' venues. The recorded recipient of the fees is replaced by one
/// that the server accepts.
fn recordings(change: impl Fn(&str, String) -> String) -> tempfile::TempDir {
    let digits = |address: Address| hex::encode(address);
    let (recorded, paid) = (digits(RECORDED_RECIPIENT), digits(RECIPIENT));
    let recordings = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/upstreams");
    let copies = tempfile::tempdir().unwrap();
    for venue in [
        "circle",
        "defillama_coins",
        "hyperliquid",
        "lifi",
        "polymarket",
    ] {
        let copy = copies.path().join(venue);
        fs::create_dir(&copy).unwrap();
        for file in fs::read_dir(recordings.join(venue)).unwrap() {
            let file = file.unwrap();
            let text = fs::read_to_string(file.path()).unwrap();
            let text = change(&file.file_name().to_string_lossy(), text);
            fs::write(copy.join(file.file_name()), text.replace(&recorded, &paid)).unwrap();
        }
    }
    copies
}

impl Stage {
    pub(super) fn open() -> Self {
        Self::over("", Venues::open())
    }

    /// A server with further lines of configuration, which come first.
    pub(super) fn over(lines: &str, venues: Venues) -> Self {
        let configured = Configured::new(&format!("{lines}{}", venues.configuration()));
        let server = configured.serve();
        let address = server.address();
        let list = post(address, r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#);
        let tools = list["result"]["tools"].as_array().unwrap().clone();
        Self {
            server,
            address,
            tools,
            _configured: configured,
            _venues: venues,
        }
    }

    /// Calls a tool with the JSON text of arguments. Checks that the result conforms to the tool's
    /// own schema, and that its text is the same JSON.
    pub(super) fn call(&self, name: &str, arguments: &str) -> Value {
        let body = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"{name}","arguments":{arguments}}}}}"#
        );
        let result = post(self.address, &body)["result"].clone();
        let structured = &result["structuredContent"];
        let tool = self.tools.iter().find(|tool| tool["name"] == name).unwrap();
        let schema = jsonschema::draft202012::new(&tool["outputSchema"]).unwrap();
        let errors: Vec<String> = schema
            .iter_errors(structured)
            .map(|error| error.to_string())
            .collect();
        assert_eq!(
            errors,
            Vec::<String>::new(),
            "{name} {arguments}: {structured}"
        );
        assert_eq!(result["isError"], structured.get("refused").is_some());
        let text: Value =
            serde_json::from_str(result["content"][0]["text"].as_str().unwrap()).unwrap();
        assert_eq!(text, *structured);
        result
    }

    pub(super) fn refusal(&self, name: &str, arguments: &str) -> Value {
        let result = self.call(name, arguments);
        assert_eq!(result["isError"], true, "{result}");
        result["structuredContent"]["refused"].clone()
    }
}

pub(crate) fn name(rail: Rail) -> String {
    format!("svc_prepare_{}", rail.as_str())
}

pub(super) fn now() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap()
        .as_secs()
}
