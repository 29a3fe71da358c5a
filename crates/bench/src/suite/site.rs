//! The places of the programs and their files, and the start of each server with its configuration.
//! The measurements decide what is sent to them.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::json;

use crate::BenchError;
use crate::baseline::mcp::Setup;
use crate::exchange::{Connection, HttpAnswer, Recording};
use crate::postgres::Database;
use crate::process::Server;
use crate::swap::{self, PLANS_CONFIG};

/// The folder of the programs and a folder for their files.
#[derive(Debug)]
pub struct Site {
    programs: PathBuf,
    files: tempfile::TempDir,
    database: Option<String>,
}

/// A closed port.
const NO_FACILITATOR: &str = "127.0.0.1:9";

/// The server as it is shipped, with the sections of its configuration that a measurement depends
/// on.
const CONFIG: &str = r#"
[server]
listen = "127.0.0.1:0"
max_connections = 20000
max_connections_per_address = 20000

[payment]
pay_to = "0x1111111111111111111111111111111111111111"

[settlement]
mode = "facilitator"
facilitator_url = "http://127.0.0.1:9"
"#;

impl Site {
    /// The site of a running benchmark: programs are beside its own, and files are on the same
    /// disk, so that a durable write costs the same as in a data folder.
    ///
    /// # Errors
    /// When there is no folder for files.
    pub fn of_this_program() -> Result<Self, BenchError> {
        let own = std::env::current_exe()?;
        let programs = own.parent().unwrap_or(Path::new(".")).to_owned();
        let files = tempfile::Builder::new()
            .prefix("bench-")
            .tempdir_in(&programs)
            .map_err(BenchError::io(&programs))?;
        Ok(Self {
            programs,
            files,
            database: None,
        })
    }

    /// With the URL of a PostgreSQL database on this machine, instead of a throw-away cluster.
    #[must_use]
    pub fn with_database(self, database: Option<String>) -> Self {
        Self { database, ..self }
    }

    /// The PostgreSQL database of the measurements, if there is one.
    ///
    /// # Errors
    /// When it cannot be started or reached.
    pub async fn database(&self) -> Result<Option<Database>, BenchError> {
        Database::open(self.database.as_deref()).await
    }

    /// A file of this run.
    pub fn file(&self, name: &str) -> PathBuf {
        self.files.path().join(name)
    }

    /// The command line as it is shipped: built with the profile `dist`, whose folder is beside
    /// those of the other profiles.
    pub fn tool(&self) -> PathBuf {
        self.programs.with_file_name("dist").join("fence-cli")
    }

    /// Starts the server as it is shipped, with a ledger.
    ///
    /// # Errors
    /// When it does not start.
    pub fn api_server(&self, ledger: &Path) -> Result<Server, BenchError> {
        let config = self.file("api-server.toml");
        let storage = format!("\n[storage]\nurl = {}\n", json!(url(ledger)));
        std::fs::write(&config, format!("{CONFIG}{storage}")).map_err(BenchError::io(&config))?;
        Server::start(
            &self.programs.join("api-server"),
            ["serve".as_ref(), "--config".as_ref(), config.as_os_str()],
        )
    }

    /// Starts the server with a settler that does nothing.
    ///
    /// # Errors
    /// When it does not start.
    pub fn paid_server(&self, ledger: &Path, settler: &str) -> Result<Server, BenchError> {
        self.paid_server_at(&url(ledger), settler)
    }

    /// Starts the server with a settler that does nothing and the ledger at a URL.
    ///
    /// # Errors
    /// When it does not start.
    pub fn paid_server_at(&self, ledger: &str, settler: &str) -> Result<Server, BenchError> {
        let arguments = ["--ledger", ledger, "--settler", settler];
        Server::start(&self.programs.join("paid-server"), arguments)
    }

    /// Starts the server with all its routes and datasets over recorded answers, and one list of
    /// yield pools.
    ///
    /// # Errors
    /// When it does not start.
    pub fn selling_server(
        &self,
        upstreams: &str,
        yields: SocketAddr,
    ) -> Result<Server, BenchError> {
        let url = url(&self.file("selling.db"));
        let yields = format!("http://{yields}");
        let arguments = [
            ["--ledger", &url],
            ["--settler", "accepting"],
            ["--upstreams", upstreams],
            ["--yields", &yields],
        ];
        Server::start(&self.programs.join("paid-server"), arguments.as_flattened())
    }

    /// Starts the server as it is shipped, with a ledger, and with a facilitator that also serves
    /// the list of tokens.
    ///
    /// # Errors
    /// When it does not start.
    pub fn facilitator_mode(&self, facilitator: SocketAddr) -> Result<Server, BenchError> {
        let config = self.file("facilitator.toml");
        let ledger = json!(url(&self.file("facilitator.db")));
        let own = format!(
            "\n[storage]\nurl = {ledger}\n\n[upstreams.okx]\nbase_url = \"http://{facilitator}\"\nmode = \"replay\"\n"
        );
        let config_text = CONFIG.replace(NO_FACILITATOR, &facilitator.to_string());
        std::fs::write(&config, config_text + &own).map_err(BenchError::io(&config))?;
        Server::start(
            &self.programs.join("api-server"),
            ["serve".as_ref(), "--config".as_ref(), config.as_os_str()],
        )
    }

    /// Starts a baseline that sells over `x402-axum`, with a facilitator.
    ///
    /// # Errors
    /// When it does not start.
    pub fn baseline_x402_axum(
        &self,
        paid: &HttpAnswer,
        unpaid: &HttpAnswer,
        facilitator: SocketAddr,
    ) -> Result<Server, BenchError> {
        let (paid, unpaid) = (
            self.record("paid.json", paid)?,
            self.record("unpaid.json", unpaid)?,
        );
        let facilitator = format!("http://{facilitator}");
        Server::start(
            &self.programs.join("baseline-x402-axum"),
            [paid.as_os_str(), unpaid.as_os_str(), facilitator.as_ref()],
        )
    }

    /// Starts a server that sends one recorded answer to every request.
    ///
    /// # Errors
    /// When it does not start.
    pub fn fixed(&self, answer: &HttpAnswer) -> Result<Server, BenchError> {
        let file = self.record("fixed.json", answer)?;
        Server::start(&self.programs.join("baseline-402"), [file])
    }

    /// Starts a baseline that sells for recovered, durably used authorizations.
    ///
    /// # Errors
    /// When it does not start.
    pub fn baseline_paid(
        &self,
        paid: &HttpAnswer,
        unpaid: &HttpAnswer,
    ) -> Result<Server, BenchError> {
        let arguments = [
            self.record("paid.json", paid)?,
            self.record("unpaid.json", unpaid)?,
            self.file("baseline.log"),
        ];
        Server::start(&self.programs.join("baseline-paid"), arguments)
    }

    /// Starts the agent rail as it is shipped, with an aggregator that listens on this machine. Its
    /// answers are recorded ones, so the budget of the real aggregator does not end the
    /// measurement.
    ///
    /// # Errors
    /// When it does not start.
    pub fn mcp_server(&self, aggregator: SocketAddr) -> Result<Server, BenchError> {
        let (config, fees) = (self.file("mcp-server.toml"), self.file("fees.toml"));
        std::fs::write(&fees, swap::fees()).map_err(BenchError::io(&fees))?;
        let own = format!(
            "fee_config = \"fees.toml\"\n\n[upstreams.lifi]\nbase_url = \"http://{aggregator}\"\nmode = \"replay\"\n"
        );
        std::fs::write(&config, format!("{PLANS_CONFIG}{own}")).map_err(BenchError::io(&config))?;
        Server::start(
            &self.programs.join("mcp-server"),
            ["serve".as_ref(), "--config".as_ref(), config.as_os_str()],
        )
    }

    /// Starts the embedded chain with this time between blocks.
    ///
    /// # Errors
    /// When it does not start.
    pub fn dev_node(&self, block_time: Duration) -> Result<Server, BenchError> {
        let millis = block_time.as_millis().to_string();
        Server::start(&self.programs.join("dev-node"), [millis.as_str()])
    }

    /// Starts the agent rail with a quote that is kept.
    ///
    /// # Errors
    /// When it does not start.
    pub fn plan_server(&self) -> Result<Server, BenchError> {
        Server::start(&self.programs.join("plan-server"), [""; 0])
    }

    /// Starts a baseline that returns a plan over the official Rust SDK.
    ///
    /// # Errors
    /// When it does not start.
    pub fn baseline_mcp(&self, setup: Setup, plan: &str) -> Result<Server, BenchError> {
        let file = self.file("plan.json");
        std::fs::write(&file, plan).map_err(BenchError::io(&file))?;
        let setup = match setup {
            Setup::Echo => "echo",
            Setup::Cheapest => "cheapest",
        };
        let arguments = ["--setup".as_ref(), setup.as_ref(), file.as_os_str()];
        Server::start(&self.programs.join("baseline-mcp"), arguments)
    }

    fn record(&self, name: &str, answer: &HttpAnswer) -> Result<PathBuf, BenchError> {
        let file = self.file(name);
        let text = serde_json::to_vec(&Recording::of(answer)?)?;
        std::fs::write(&file, text).map_err(BenchError::io(&file))?;
        Ok(file)
    }
}

/// One unpaid call.
pub(super) async fn unpaid_answer(server: &Server, target: &str) -> Result<HttpAnswer, BenchError> {
    let answer = Connection::open(server.address())
        .await?
        .get(target, None)
        .await?;
    expect(answer, 402)
}

/// Checks the status of an answer.
pub(super) fn expect(answer: HttpAnswer, expected: u16) -> Result<HttpAnswer, BenchError> {
    let observed = answer.status.as_u16();
    if observed == expected {
        return Ok(answer);
    }
    let text = String::from_utf8_lossy(&answer.body);
    Err(BenchError::Status {
        expected,
        observed,
        body: text.chars().take(300).collect(),
    })
}

/// Lets a server settle after a load.
pub(super) async fn rest() {
    tokio::time::sleep(Duration::from_secs(1)).await;
}

fn url(ledger: &Path) -> String {
    format!("sqlite://{}", ledger.display())
}
