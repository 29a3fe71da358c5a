//! Runs `api-server` with the gas account's key at a key management service. The configuration has
//! `settlement.mode = "onchain"`, names no key, and has the signer's account as
//! `settlement.gas_account`.
//!
//! ```text
//! api-server CONFIG aws-kms KEY_ID
//! api-server CONFIG gcp-kms PROJECT LOCATION KEY_RING KEY VERSION
//! api-server CONFIG turnkey ORGANIZATION_ID ACCOUNT API_KEY_FILE
//! ```

// The futures of the client libraries nest more deeply than the compiler's default limit.
#![recursion_limit = "256"]

use std::error::Error;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use api_server::Config;
use kms_signers::{AwsKms, GcpKey, GcpKms, Turnkey, TurnkeyKey};
use tx_sender::TransactionSigner;

const USAGE: &str = "usage: api-server CONFIG aws-kms KEY_ID
       api-server CONFIG gcp-kms PROJECT LOCATION KEY_RING KEY VERSION
       api-server CONFIG turnkey ORGANIZATION_ID ACCOUNT API_KEY_FILE";

#[tokio::main]
async fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match serve(&arguments).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("api-server: {error}");
            ExitCode::from(2)
        }
    }
}

async fn serve(arguments: &[&str]) -> Result<(), Box<dyn Error>> {
    let [config, signer @ ..] = arguments else {
        return Err(USAGE.into());
    };
    let config = Config::load(Path::new(config), std::env::vars())?;
    api_server::start_log(&config.log);
    let signer = connect(signer).await?;
    api_server::serve_signed_by(&config, signer).await?;
    Ok(())
}

async fn connect(arguments: &[&str]) -> Result<Arc<dyn TransactionSigner>, Box<dyn Error>> {
    Ok(match *arguments {
        ["aws-kms", key_id] => Arc::new(AwsKms::connect(key_id).await?),
        ["gcp-kms", project, location, key_ring, key, version] => {
            let key = GcpKey {
                project: project.to_owned(),
                location: location.to_owned(),
                key_ring: key_ring.to_owned(),
                key: key.to_owned(),
                version: version.parse()?,
            };
            Arc::new(GcpKms::connect(key).await?)
        }
        ["turnkey", organization_id, account, file] => {
            let api_key = std::fs::read_to_string(file)?;
            let key = TurnkeyKey {
                organization_id: organization_id.to_owned(),
                account: account.parse()?,
            };
            Arc::new(Turnkey::connect(&api_key.into(), key)?)
        }
        _ => return Err(USAGE.into()),
    })
}
