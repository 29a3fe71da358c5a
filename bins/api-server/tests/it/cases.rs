//! Walks the cases of `fixtures/cases/` that are about requests, heads and configuration.

use std::net::SocketAddr;

use api_server::config::ServerSection;
use reqwest::Method;
use route_catalog::Operation;
use serde_json::{Value, json};
use test_support::cases::{Case, Observed, cases};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::support::World;
use crate::support::buyer::header_of;

/// The section `[server]` with the keys of a case; the problems if it is refused.
fn section(keys: &Value) -> Result<ServerSection, String> {
    let mut section: ServerSection = match keys {
        Value::Null => ServerSection::default(),
        keys => serde_json::from_value(keys.clone()).unwrap(),
    };
    let mut problems = Vec::new();
    section.check(&mut problems);
    if !problems.is_empty() {
        let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
        return Err(problems.join("\n"));
    }
    section.listen = Some(([127, 0, 0, 1], 0).into());
    Ok(section)
}

async fn world(section: ServerSection) -> World {
    World::start(|config, _rpc| config.server = section).await
}

/// Sends bytes and reads one answer: its head and its body.
async fn exchange(address: SocketAddr, request: &str) -> (String, String) {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.unwrap());
    }
    let head = String::from_utf8(head).unwrap().to_lowercase();
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length: "));
    let mut body = vec![0; length.map_or(0, |length| length.parse().unwrap())];
    stream.read_exact(&mut body).await.unwrap();
    (head, String::from_utf8(body).unwrap())
}

async fn observe(address: SocketAddr, request: &str) -> Observed {
    let (head, body) = exchange(address, request).await;
    let answer: Value = serde_json::from_str(&body).unwrap_or_default();
    let is_object = answer.is_object();
    Observed {
        status: head.split(' ').nth(1).unwrap().parse().unwrap(),
        answer,
        named: [
            ("json".to_owned(), is_object.into()),
            ("head".to_owned(), head.into()),
        ]
        .into_iter()
        .collect(),
    }
}

#[tokio::test]
async fn raw_requests() {
    let world = world(section(&Value::Null).unwrap()).await;
    for case in cases("api_raw") {
        case.judge(&observe(world.address, case.text("request")).await);
    }
}

#[tokio::test]
async fn configured_servers() {
    for case in cases("api_config") {
        match section(&case.given["server"]) {
            Err(problems) => {
                let named = [("check_config".to_owned(), problems.into())];
                let named = named.into_iter().collect();
                case.judge(&Observed {
                    named,
                    ..Observed::default()
                });
            }
            Ok(section) => {
                let world = world(section).await;
                case.judge(&observe(world.address, case.text("request")).await);
            }
        }
    }
}

#[tokio::test]
async fn heads_of_challenges() {
    for case in cases("head_size") {
        let world = world(section(&case.given["server"]).unwrap()).await;
        let limit = case.given["limit"].as_u64().unwrap();
        for operation in Operation::ALL {
            let route = operation.route();
            let request = format!(
                "{} {} HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n",
                route.method.as_str(),
                route.path
            );
            let (head, _) = exchange(world.address, &request).await;
            assert!(head.starts_with("http/1.1 402 "), "{operation}: {head}");
            let length = u64::try_from(head.len()).unwrap();
            assert!(
                length <= limit,
                "{}: {operation} has {length} bytes",
                case.name
            );
        }
    }
}

#[tokio::test]
async fn paid_requests() {
    let world = world(section(&Value::Null).unwrap()).await;
    for case in cases("paid") {
        let target = case.text("request");
        let before = world.paid();
        let answer = if case.given["unpaid"] == true {
            world.buyer.get(target).await
        } else {
            let draft = world.buyer.draft(Method::GET, target).await;
            let mut payment = world.buyer.signed(&draft);
            change(&case, &mut payment);
            world.buyer.get_paid(target, &header_of(&payment)).await
        };
        let charged = json!(world.paid() > before);
        case.judge(&Observed {
            status: answer.status,
            answer: answer.body(),
            named: [("charged".to_owned(), charged)].into_iter().collect(),
        });
    }
}

/// Changes and removes the members of a payment that a case names.
fn change(case: &Case, payment: &mut Value) {
    let pointer = |path: &str| format!("/{}", path.replace('.', "/"));
    for (path, value) in case.given["change"].as_object().into_iter().flatten() {
        let member = payment.pointer_mut(&pointer(path));
        *member.unwrap_or_else(|| panic!("{}: no {path}", case.name)) = value.clone();
    }
    for path in case.given["drop"].as_array().into_iter().flatten() {
        let path = path.as_str().unwrap();
        let (parent, name) = path.rsplit_once('.').unwrap_or(("", path));
        let parent = match parent {
            "" => Some(&mut *payment),
            parent => payment.pointer_mut(&pointer(parent)),
        };
        let removed = parent.and_then(|it| it.as_object_mut()?.remove(name));
        assert!(removed.is_some(), "{}: no {path}", case.name);
    }
}
