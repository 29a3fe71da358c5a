//! JPEG (ITU-T T.81): segments from the start of the image to its end.

use super::{ImageError, ImageFormat, Reader};

const END: u8 = 0xd9;
const SCAN: u8 = 0xda;

/// Returns the width and the height.
pub(super) fn size(bytes: &[u8]) -> Result<(u32, u32), ImageError> {
    let mut reader = Reader::new(bytes, ImageFormat::Jpeg);
    reader.take(2)?;
    let mut size = None;
    let mut has_scan = false;
    loop {
        match marker(&mut reader)? {
            END => {
                reader.end()?;
                return match size {
                    Some(size) if has_scan => Ok(size),
                    _ => Err(reader.malformed("no pixels")),
                };
            }
            // A second start of an image is refused, and markers without a segment are skipped.
            0xd8 => return Err(reader.malformed("two images")),
            0x01 | 0xd0..=0xd7 => {}
            code => {
                let segment = segment(&mut reader)?;
                if is_frame(code) {
                    if size.is_some() {
                        return Err(reader.malformed("two frames"));
                    }
                    size = Some(frame(segment)?);
                }
                if code == SCAN {
                    if size.is_none() {
                        return Err(reader.malformed("no frame"));
                    }
                    has_scan = true;
                    skip_scan(&mut reader);
                }
            }
        }
    }
}

/// The code of the next marker; any number of fill bytes may precede it.
fn marker(reader: &mut Reader<'_>) -> Result<u8, ImageError> {
    let [first] = reader.array()?;
    if first != 0xff {
        return Err(reader.malformed("no marker"));
    }
    loop {
        match reader.array()? {
            [0xff] => {}
            [0x00] => return Err(reader.malformed("no marker")),
            [code] => return Ok(code),
        }
    }
}

/// Returns the content of a segment. Its stated length includes the length itself.
fn segment<'a>(reader: &mut Reader<'a>) -> Result<&'a [u8], ImageError> {
    let length = usize::from(u16::from_be_bytes(reader.array()?));
    let length = length
        .checked_sub(2)
        .ok_or_else(|| reader.malformed("segment length"))?;
    reader.take(length)
}

/// Whether a marker begins a frame. These are C0 to CF, without the tables for Huffman and
/// arithmetic coding and without the reserved one.
fn is_frame(code: u8) -> bool {
    matches!(code, 0xc0..=0xcf) && !matches!(code, 0xc4 | 0xc8 | 0xcc)
}

fn frame(segment: &[u8]) -> Result<(u32, u32), ImageError> {
    let mut reader = Reader::new(segment, ImageFormat::Jpeg);
    reader.take(1)?;
    let height = u16::from_be_bytes(reader.array()?);
    let width = u16::from_be_bytes(reader.array()?);
    Ok((u32::from(width), u32::from(height)))
}

/// Skips coded pixels up to the next marker, which is not consumed. Among pixels, 0xff is a restart
/// or is followed by 0x00.
fn skip_scan(reader: &mut Reader<'_>) {
    let mut pairs = reader.rest.windows(2);
    let is_marker =
        |pair: &[u8]| matches!(pair, [0xff, code] if !matches!(code, 0x00 | 0xd0..=0xd7 | 0xff));
    let length = pairs.position(is_marker).unwrap_or(reader.rest.len());
    reader.rest = reader.rest.get(length..).unwrap_or_default();
}
