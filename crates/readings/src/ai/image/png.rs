//! PNG (ISO/IEC 15948): chunks from `IHDR` to `IEND`.

use super::{ImageError, ImageFormat, Reader};

pub(super) const SIGNATURE: &[u8] = b"\x89PNG\r\n\x1a\n";

/// Returns the width and the height.
pub(super) fn size(bytes: &[u8]) -> Result<(u32, u32), ImageError> {
    let mut reader = Reader::new(bytes, ImageFormat::Png);
    reader.take(SIGNATURE.len())?;
    let mut size = None;
    let mut has_data = false;
    loop {
        let length = u32::from_be_bytes(reader.array()?);
        let kind: [u8; 4] = reader.array()?;
        let length = usize::try_from(length).map_err(|_| reader.malformed("chunk length"))?;
        let data = reader.take(length)?;
        let expected = u32::from_be_bytes(reader.array()?);
        if crc(&kind, data) != expected {
            return Err(reader.malformed("chunk checksum"));
        }
        match (&kind, size) {
            (b"IHDR", None) => {
                let mut header = Reader::new(data, ImageFormat::Png);
                let width = u32::from_be_bytes(header.array()?);
                let height = u32::from_be_bytes(header.array()?);
                header.take(5)?;
                header.end()?;
                size = Some((width, height));
            }
            (b"IHDR", Some(_)) => return Err(reader.malformed("two headers")),
            (_, None) => return Err(reader.malformed("no header")),
            (b"IDAT", _) => has_data = true,
            (b"IEND", Some(_)) if !has_data => return Err(reader.malformed("no pixels")),
            (b"IEND", Some(size)) => {
                reader.end()?;
                return Ok(size);
            }
            _ => {}
        }
    }
}

/// Computes the checksum of a chunk: CRC-32 over its kind and its data.
fn crc(kind: &[u8; 4], data: &[u8]) -> u32 {
    let step = |crc: u32, byte: &u8| {
        let index = usize::from(crc.to_le_bytes()[0] ^ byte);
        TABLE.get(index).copied().unwrap_or_default() ^ (crc >> 8)
    };
    !kind.iter().chain(data).fold(u32::MAX, step)
}

static TABLE: [u32; 256] = table();

#[expect(
    clippy::as_conversions,
    clippy::indexing_slicing,
    reason = "evaluated by the compiler, which refuses what is out of bounds"
)]
const fn table() -> [u32; 256] {
    let mut table = [0; 256];
    let mut index = 0;
    while index < 256 {
        let mut entry = index as u32;
        let mut bit = 0;
        while bit < 8 {
            entry = if entry & 1 == 1 {
                0xedb8_8320 ^ (entry >> 1)
            } else {
                entry >> 1
            };
            bit += 1;
        }
        table[index] = entry;
        index += 1;
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every PNG ends with the checksum of the empty `IEND` chunk.
    #[test]
    fn the_checksum_is_that_of_the_standard() {
        assert_eq!(crc(b"IEND", b""), 0xae42_6082);
        assert_eq!(crc(b"1234", b"56789"), 0xcbf4_3926);
    }
}
