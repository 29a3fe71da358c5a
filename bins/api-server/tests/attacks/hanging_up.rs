//! A caller that closes its connection in the middle of a paid call changes nothing.

use std::time::{Duration, Instant};

use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use crate::support::World;

/// Splitmix64: the moments of a run follow from its seed.
struct Moments(u64);

impl Moments {
    fn next(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % below
    }
}

const CALLS: u64 = 60;

#[tokio::test]
async fn the_same_payment_is_served_whenever_its_caller_hung_up() {
    let seed = std::env::var("HANG_UP_SEED").map_or(196, |seed| seed.parse().unwrap());
    println!("HANG_UP_SEED={seed}");
    let world = World::onchain().await;
    let target = world.price();
    let mut moments = Moments(seed);
    for call in 0..CALLS {
        let payment = world.buyer.payment(&target).await;
        let mut stream = TcpStream::connect(world.address).await.unwrap();
        let head = format!(
            "GET {target} HTTP/1.1\r\nhost: {}\r\npayment-signature: {payment}\r\n\r\n",
            world.address
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        // Half of the moments lie before the call has come far.
        let turns = match call % 2 {
            0 => moments.next(12),
            _ => moments.next(400),
        };
        for _ in 0..turns {
            tokio::task::yield_now().await;
        }
        drop(stream);

        let began = Instant::now();
        let mut answer = world.buyer.get_paid(&target, &payment).await;
        while answer.status == 409 {
            assert_eq!(answer.action(), "send_same_again", "{}", answer.text);
            assert!(
                began.elapsed() < Duration::from_secs(10),
                "nobody owns the payment"
            );
            answer = world.buyer.get_paid(&target, &payment).await;
        }
        assert_eq!(answer.status, 200, "after {turns} turns: {}", answer.text);
        assert_eq!(world.paid(), 2000 * (call + 1), "after {turns} turns");
    }
}
