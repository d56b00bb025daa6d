//! Bodies of frames: values of serde to postcard's bytes and back, [`encode`] and [`decode`].
//!
//! The format is that of the crate `postcard`, which the client decodes with, and which is the oracle of the tests. Here each number goes straight to its
//! place, where that crate writes it into a buffer first and copies from there: half of the instructions of a body on the board. What no message has
//! (signed numbers, floating point, maps, characters) is an error.

use core::fmt::{self, Display};

use serde::de::{self, DeserializeSeed, IntoDeserializer, Visitor};
use serde::ser::{self, Impossible};
use serde::{Deserialize, Serialize};

/// A value that has no room, or bytes that are no such value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Malformed;

impl Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no body of a message")
    }
}

impl core::error::Error for Malformed {}

impl ser::Error for Malformed {
    fn custom<T: Display>(_: T) -> Self {
        Malformed
    }
}

impl de::Error for Malformed {
    fn custom<T: Display>(_: T) -> Self {
        Malformed
    }
}

/// Writes the body of a value; returns its length.
///
/// # Errors
///
/// When there is no room for it, or it has something that no message has.
pub(crate) fn encode(value: &impl Serialize, room: &mut [u8]) -> Result<usize, Malformed> {
    let mut writer = Writer { room, len: 0 };
    value.serialize(&mut writer)?;
    Ok(writer.len)
}

/// The value whose body these bytes are, all of them.
///
/// # Errors
///
/// When they are not that of a value.
pub(crate) fn decode<'de, T: Deserialize<'de>>(bytes: &'de [u8]) -> Result<T, Malformed> {
    let mut reader = Reader(bytes);
    // Where it is returned, without a copy.
    let mut value = T::deserialize(&mut reader);
    if !reader.0.is_empty() {
        value = Err(Malformed);
    }
    value
}

struct Writer<'a> {
    room: &'a mut [u8],
    len: usize,
}

type Written = Result<(), Malformed>;

impl Writer<'_> {
    #[inline(always)]
    fn byte(&mut self, byte: u8) -> Written {
        *self.room.get_mut(self.len).ok_or(Malformed)? = byte;
        self.len += 1;
        Ok(())
    }

    /// Seven bits a byte, the lowest first; the highest bit says that there are more.
    #[inline(never)]
    fn number(&mut self, mut number: u32) -> Written {
        while number > 0x7f {
            self.byte(number as u8 | 0x80)?;
            number >>= 7;
        }
        self.byte(number as u8)
    }

    fn bytes(&mut self, bytes: &[u8]) -> Written {
        self.number(bytes.len() as u32)?;
        bytes.iter().try_for_each(|&byte| self.byte(byte))
    }
}

/// What no message has.
macro_rules! none_of {
    ($($method:ident($of:ty))*) => {
        $(fn $method(self, _: $of) -> Written {
            Err(Malformed)
        })*
    };
}

impl ser::Serializer for &mut Writer<'_> {
    type Ok = ();
    type Error = Malformed;
    type SerializeSeq = Self;
    type SerializeTuple = Self;
    type SerializeTupleStruct = Self;
    type SerializeTupleVariant = Self;
    type SerializeMap = Impossible<(), Malformed>;
    type SerializeStruct = Self;
    type SerializeStructVariant = Self;

    none_of! {
        serialize_i8(i8)
        serialize_i16(i16)
        serialize_i32(i32)
        serialize_i64(i64)
        serialize_f32(f32)
        serialize_f64(f64)
        serialize_char(char)
    }

    fn serialize_bool(self, value: bool) -> Written {
        self.byte(value.into())
    }

    fn serialize_u8(self, value: u8) -> Written {
        self.byte(value)
    }

    fn serialize_u16(self, value: u16) -> Written {
        self.number(value.into())
    }

    fn serialize_u32(self, value: u32) -> Written {
        self.number(value)
    }

    fn serialize_u64(self, mut value: u64) -> Written {
        while value > u32::MAX.into() {
            self.byte(value as u8 | 0x80)?;
            value >>= 7;
        }
        self.number(value as u32)
    }

    fn serialize_str(self, value: &str) -> Written {
        self.bytes(value.as_bytes())
    }

    fn serialize_bytes(self, value: &[u8]) -> Written {
        self.bytes(value)
    }

    fn serialize_none(self) -> Written {
        self.byte(0)
    }

    fn serialize_some<T: ?Sized + Serialize>(self, value: &T) -> Written {
        self.byte(1)?;
        value.serialize(self)
    }

    fn serialize_unit(self) -> Written {
        Ok(())
    }

    fn serialize_unit_struct(self, _: &'static str) -> Written {
        Ok(())
    }

    fn serialize_unit_variant(self, _: &'static str, variant: u32, _: &'static str) -> Written {
        self.number(variant)
    }

    fn serialize_newtype_struct<T: ?Sized + Serialize>(
        self,
        _: &'static str,
        value: &T,
    ) -> Written {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: ?Sized + Serialize>(
        self,
        _: &'static str,
        variant: u32,
        _: &'static str,
        value: &T,
    ) -> Written {
        self.number(variant)?;
        value.serialize(self)
    }

    fn serialize_seq(self, len: Option<usize>) -> Result<Self, Malformed> {
        self.number(len.ok_or(Malformed)? as u32)?;
        Ok(self)
    }

    fn serialize_tuple(self, _: usize) -> Result<Self, Malformed> {
        Ok(self)
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Self, Malformed> {
        Ok(self)
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        variant: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self, Malformed> {
        self.number(variant)?;
        Ok(self)
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Self::SerializeMap, Malformed> {
        Err(Malformed)
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Self, Malformed> {
        Ok(self)
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        variant: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self, Malformed> {
        self.number(variant)?;
        Ok(self)
    }

    fn collect_str<T: ?Sized + Display>(self, _: &T) -> Written {
        Err(Malformed)
    }

    fn is_human_readable(&self) -> bool {
        false
    }
}

/// One after the other.
macro_rules! in_order {
    ($($of:ident $method:ident($($key:ty)?))*) => {
        $(impl ser::$of for &mut Writer<'_> {
            type Ok = ();
            type Error = Malformed;

            fn $method<T: ?Sized + Serialize>(&mut self, $(_: $key,)? value: &T) -> Written {
                value.serialize(&mut **self)
            }

            fn end(self) -> Written {
                Ok(())
            }
        })*
    };
}

in_order! {
    SerializeSeq serialize_element()
    SerializeTuple serialize_element()
    SerializeTupleStruct serialize_field()
    SerializeTupleVariant serialize_field()
    SerializeStruct serialize_field(&'static str)
    SerializeStructVariant serialize_field(&'static str)
}

/// What has not been read yet.
struct Reader<'de>(&'de [u8]);

impl<'de> Reader<'de> {
    #[inline(always)]
    fn byte(&mut self) -> Result<u8, Malformed> {
        self.0.split_off_first().copied().ok_or(Malformed)
    }

    /// Up to seven bits from each of at most four bytes, and whether there are more.
    fn part(&mut self) -> Result<(u32, bool), Malformed> {
        let mut part = 0;
        for shift in [0, 7, 14, 21] {
            let byte = self.byte()?;
            part |= u32::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok((part, false));
            }
        }
        Ok((part, true))
    }

    /// A number of at most 32 bits.
    #[inline(never)]
    fn number(&mut self) -> Result<u32, Malformed> {
        match self.part()? {
            (number, false) => Ok(number),
            (low, true) => match self.byte()? {
                high @ 0..=0xf => Ok(low | u32::from(high) << 28),
                _ => Err(Malformed),
            },
        }
    }

    #[inline(never)]
    fn long_number(&mut self) -> Result<u64, Malformed> {
        let (low, has_more) = self.part()?;
        if !has_more {
            return Ok(low.into());
        }
        let (middle, has_more) = self.part()?;
        let number = u64::from(low) | u64::from(middle) << 28;
        if !has_more {
            return Ok(number);
        }
        match self.part()? {
            (high @ 0..=0xff, false) => Ok(number | u64::from(high) << 56),
            _ => Err(Malformed),
        }
    }

    fn bytes(&mut self) -> Result<&'de [u8], Malformed> {
        let len = self.number()? as usize;
        self.0.split_off(..len).ok_or(Malformed)
    }
}

impl<'de> de::Deserializer<'de> for &mut Reader<'de> {
    type Error = Malformed;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Malformed> {
        Err(Malformed)
    }

    serde::forward_to_deserialize_any! {
        i8 i16 i32 i64 i128 u128 f32 f64 char string byte_buf map identifier ignored_any
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Malformed> {
        match self.byte()? {
            0 => visitor.visit_bool(false),
            1 => visitor.visit_bool(true),
            _ => Err(Malformed),
        }
    }

    fn deserialize_u8<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Malformed> {
        visitor.visit_u8(self.byte()?)
    }

    fn deserialize_u16<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Malformed> {
        let number = u16::try_from(self.number()?).map_err(|_| Malformed)?;
        visitor.visit_u16(number)
    }

    fn deserialize_u32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Malformed> {
        visitor.visit_u32(self.number()?)
    }

    fn deserialize_u64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Malformed> {
        visitor.visit_u64(self.long_number()?)
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Malformed> {
        let text = core::str::from_utf8(self.bytes()?).map_err(|_| Malformed)?;
        visitor.visit_borrowed_str(text)
    }

    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Malformed> {
        visitor.visit_borrowed_bytes(self.bytes()?)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Malformed> {
        match self.byte()? {
            0 => visitor.visit_none(),
            1 => visitor.visit_some(self),
            _ => Err(Malformed),
        }
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Malformed> {
        visitor.visit_unit()
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Malformed> {
        visitor.visit_unit()
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Malformed> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Malformed> {
        let left = self.number()?;
        visitor.visit_seq(Elements { reader: self, left })
    }

    fn deserialize_tuple<V: Visitor<'de>>(
        self,
        len: usize,
        visitor: V,
    ) -> Result<V::Value, Malformed> {
        visitor.visit_seq(Elements {
            reader: self,
            left: len as u32,
        })
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        len: usize,
        visitor: V,
    ) -> Result<V::Value, Malformed> {
        self.deserialize_tuple(len, visitor)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Malformed> {
        self.deserialize_tuple(fields.len(), visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Malformed> {
        visitor.visit_enum(self)
    }

    fn is_human_readable(&self) -> bool {
        false
    }
}

/// So many values, one after the other.
struct Elements<'a, 'de> {
    reader: &'a mut Reader<'de>,
    left: u32,
}

impl<'de> de::SeqAccess<'de> for Elements<'_, 'de> {
    type Error = Malformed;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Malformed> {
        match self.left.checked_sub(1) {
            Some(left) => {
                self.left = left;
                seed.deserialize(&mut *self.reader).map(Some)
            }
            None => Ok(None),
        }
    }
}

impl<'de> de::EnumAccess<'de> for &mut Reader<'de> {
    type Error = Malformed;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Self), Malformed> {
        let number: de::value::U32Deserializer<Malformed> = self.number()?.into_deserializer();
        Ok((seed.deserialize(number)?, self))
    }
}

impl<'de> de::VariantAccess<'de> for &mut Reader<'de> {
    type Error = Malformed;

    fn unit_variant(self) -> Result<(), Malformed> {
        Ok(())
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Malformed> {
        seed.deserialize(self)
    }

    fn tuple_variant<V: Visitor<'de>>(self, len: usize, visitor: V) -> Result<V::Value, Malformed> {
        de::Deserializer::deserialize_tuple(self, len, visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Malformed> {
        de::Deserializer::deserialize_tuple(self, fields.len(), visitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use meshalloc::{
        Command, Configuration, Flags, JobId, Mesh, Request, SchedulerKind, StrategyKind,
    };

    use crate::protocol::{ClientMessage, ServerMessage, Session};

    fn messages() -> impl Iterator<Item = ClientMessage> {
        let request = Request::submesh(300, 2).with_flags(Flags::NO_WAIT);
        let machine = Mesh::new(64, 64).unwrap().grid();
        let commands = [
            Command::Submit {
                job: JobId(u32::MAX),
                request: request.with_estimate(u64::MAX >> 1),
            },
            Command::SubmitLeased {
                job: JobId(127),
                request,
                ticks: 128,
            },
            Command::MarkFaulty {
                block: machine.unit(meshalloc::NodeId(77)).unwrap(),
            },
            Command::Configure(Configuration {
                machine,
                strategy: StrategyKind::LeastExpectedBlocking { budget: 300 },
                scheduler: SchedulerKind::Easy { reservations: 2 },
            }),
            Command::Reset,
        ];
        let numbers = [0, 127, 128, (1 << 28) - 1, 1 << 28, u64::MAX >> 8, u64::MAX];
        numbers.into_iter().flat_map(move |number| {
            let session = Session {
                boot: number,
                number: number as u32,
            };
            commands.map(|command| ClientMessage::Command {
                session,
                since: number,
                at: number.is_multiple_of(2).then_some(number),
                command,
            })
        })
    }

    #[test]
    fn bodies_are_those_of_an_independent_encoder() {
        for message in messages() {
            let (mut body, mut expected) = ([0; 128], [0; 128]);
            let expected = postcard::to_slice(&message, &mut expected).unwrap();
            assert_eq!(encode(&message, &mut body), Ok(expected.len()));
            assert_eq!(body[..expected.len()], *expected);
            assert_eq!(decode(expected), Ok(message));
            let room = &mut body[..expected.len() - 1];
            assert_eq!(encode(&message, room), Err(Malformed));
        }
        let answer = ServerMessage::Hello(crate::protocol::Greeting {
            protocol: 3,
            session: Session { boot: 1, number: 2 },
            events: 3,
            origin: crate::protocol::Origin::Restored { at: 400 },
            software: "a name".try_into().unwrap(),
            build: "".try_into().unwrap(),
            capacity: meshalloc::Capacity {
                words: 5,
                word_bits: 32,
                jobs: 600,
                blocks: 70_000,
                list: 0,
            },
            strategies: [1, 200].into_iter().collect(),
            schedulers: [SchedulerKind::Fcfs].into_iter().collect(),
            configuration: Configuration {
                machine: Mesh::new(3, 300).unwrap().grid(),
                strategy: StrategyKind::FirstFit,
                scheduler: SchedulerKind::Fcfs,
            },
            frame_bytes_max: 300,
        });
        let (mut body, mut expected) = ([0; 128], [0; 128]);
        let expected = postcard::to_slice(&answer, &mut expected).unwrap();
        assert_eq!(encode(&answer, &mut body), Ok(expected.len()));
        assert_eq!(body[..expected.len()], *expected);
        assert_eq!(decode(expected), Ok(answer));
    }

    #[test]
    fn what_an_independent_decoder_refuses_is_refused() {
        let mut room = [0; 128];
        let (mut taken, mut refused) = (0, 0);
        for message in messages() {
            let len = encode(&message, &mut room).unwrap();
            // Each byte replaced, and the body cut there or gone on.
            for at in 0..len {
                for byte in 0..=u8::MAX {
                    for end in [len, at + 1, len + 1] {
                        let mut body = room;
                        body[at] = byte;
                        let body = &body[..end];
                        let expected = match postcard::take_from_bytes::<ClientMessage>(body) {
                            Ok((message, [])) => Ok(message),
                            _ => Err(Malformed),
                        };
                        assert_eq!(decode(body), expected);
                        *match expected {
                            Ok(_) => &mut taken,
                            Err(_) => &mut refused,
                        } += 1;
                    }
                }
            }
        }
        assert!(taken > 10_000 && refused > 10_000, "{taken}, {refused}");
    }
}
