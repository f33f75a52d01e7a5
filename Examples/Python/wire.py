"""The batches, operations and values of Docs/WireFormat.md."""

import struct
import uuid
import zlib

BATCH_OPERATIONS, BATCH_BYTES, OPERATION_BYTES = 10_000, 32 << 20, 16 << 20


class FormatError(Exception):
    """Bytes that are not what Docs/WireFormat.md says, or of a version or rule that is new here."""


# MARK: - Primitives


def varint(number):
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def string(text):
    data = text.encode()
    return varint(len(data)) + data


class Reader:
    """Reads fields one after the other, and refuses what has another form."""

    def __init__(self, data):
        self.data, self.place = data, 0

    def take(self, count):
        if count > len(self.data) - self.place:
            raise FormatError("truncated: the input ends inside a field")
        self.place += count
        return self.data[self.place - count : self.place]

    def byte(self, *allowed):
        value = self.take(1)[0]
        if allowed and value not in allowed:
            raise FormatError(f"unsupported version or malformed: {value} where {allowed} may be")
        return value

    def varint(self, low=0, high=(1 << 64) - 1):
        number = shift = 0
        while True:
            byte = self.byte()
            number |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                break
            if shift > 63:
                raise FormatError("malformed: a varint of more than 64 bits")
        if (byte == 0 and shift > 7) or not low <= number <= high:
            raise FormatError(f"malformed: {number} is not from {low} to {high}, or padded")
        return number

    def string(self):
        try:
            return self.take(self.varint()).decode()
        except UnicodeDecodeError:
            raise FormatError("malformed: a name is not UTF-8") from None

    def rest(self):
        return self.take(len(self.data) - self.place)

    def is_at_end(self):
        return self.place == len(self.data)


# MARK: - Values: None, int, float, str and bytes


def encode_value(value, in_key=False):
    if in_key and isinstance(value, float) and value.is_integer() and -(1 << 63) <= value < 1 << 63:
        value = int(value)
    match value:
        case None if not in_key:
            return varint(0)
        case bool() | int():
            number = int(value)
            if 0 <= number < 1 << 60:
                return varint(number << 3 | 1)
            if -(1 << 60) <= number < 0:
                return varint(-1 - number << 3 | 2)
            if -(1 << 63) <= number < 1 << 63:
                return varint(3) + struct.pack("<q", number)
        case float() if value == value:
            return varint(4) + struct.pack("<d", value)
        case str():
            # What SQLite holds need not be UTF-8: other bytes travel as surrogates within Python.
            data = value.encode(errors="surrogateescape")
            return varint(len(data) << 3 | 5) + data
        case bytes():
            return varint(len(value) << 3 | 6) + value
    raise ValueError(f"no column or key can hold this {type(value).__name__}")


def decode_value(reader):
    start, head = reader.place, reader.varint()
    tag, number = head & 7, head >> 3
    if tag in (0, 3, 4, 7) and number:
        raise FormatError(f"malformed: a value of tag {tag} with the number {number}")
    match tag:
        case 0:
            return None
        case 1 | 2:
            value = number if tag == 1 else -1 - number
        case 3:
            value = struct.unpack("<q", reader.take(8))[0]
        case 4:
            value = struct.unpack("<d", reader.take(8))[0]
        case 5:
            return reader.take(number).decode(errors="surrogateescape")
        case 6:
            return reader.take(number)
        case 7:
            value = int.from_bytes(reader.take(16), "little", signed=True)
            if not -(1 << 63) <= value < 1 << 63:
                return value
    if value != value or encode_value(value) != reader.data[start : reader.place]:
        raise FormatError("malformed: NaN, or a number that is not in its shortest form")
    return value


def decode_key(reader, count):
    start = reader.place
    values = [decode_value(reader) for _ in range(count)]
    try:
        if b"".join(encode_key(values)) == reader.data[start : reader.place]:
            return values
    except ValueError:
        pass  # NULL, or an integer over 64 bits.
    raise FormatError("malformed: a key has NULL, or a number in another form than keys have")


def encode_key(values):
    return [encode_value(value, in_key=True) for value in values]


# MARK: - Operations


class Operation:
    """An operation's envelope, with its bytes, by which everybody knows it."""

    def __init__(self, data):
        if len(data) > OPERATION_BYTES:
            raise FormatError("too large: an operation of more than 16 MiB")
        reader = Reader(data)
        self.data = data
        reader.byte(1)
        self.continues = reader.byte(0, 1) == 1
        self.author = reader.take(16)
        self.sequence = reader.varint(1, (1 << 40) - 1)
        self.time = int.from_bytes(reader.take(8), "little")
        if not 0 < self.time < 1 << 63:
            raise FormatError("malformed: an operation's time is 0, or not below 2^63")
        self.tail = data[reader.place :]  # What stands behind the time.
        self.schema_version = reader.varint(0, (1 << 32) - 1)
        before = b""
        for _ in range(reader.varint(0, 10_000)):
            replica, _ = reader.take(16), reader.varint(1, (1 << 40) - 1)
            if replica <= before and before:
                raise FormatError("malformed: replicas that were seen are not in ascending order")
            before = replica
        reader.byte(0)
        length = reader.varint()
        self.body = reader.rest()
        if len(self.body) != length:
            raise FormatError("malformed: a body of another length than it says")

    @staticmethod
    def make(continues, author, sequence, stamp, tail):
        head = bytes([1, continues]) + author + varint(sequence)
        return Operation(head + stamp.to_bytes(8, "little") + tail)


def encode_batch(operations):
    content, count = b"", 0
    last = {}  # By author: the number of its whole entry, and its last operation.
    for operation in operations:
        place, before = last.get(operation.author, (0, None))
        step = (operation.time >> 16) - (before.time >> 16) if before else -1
        if before and operation.sequence == before.sequence + 1 and step >= 0:
            entry = bytes([operation.continues]) + varint(step) + varint(operation.time & 0xFFFF)
            content += varint(place) + varint(len(operation.tail)) + entry + operation.tail
        else:
            count += 1
            place = count
            content += varint(0) + varint(len(operation.data)) + operation.data
        last[operation.author] = (place, operation)
    packed = zlib.compress(content)
    compression = 1 if len(packed) < len(content) else 0
    head = b"TRN1" + bytes([compression]) + varint(len(operations)) + varint(len(content))
    return head + (packed if compression else content)


def decode_batch(data):
    reader = Reader(data)
    if reader.take(4) != b"TRN1":
        raise FormatError("unsupported version: this is no batch of version 1")
    compression = reader.byte(0, 1, 2)
    count, length = reader.varint(0, BATCH_OPERATIONS), reader.varint(0, BATCH_BYTES)
    packed_length = reader.varint(0, length - 1) if compression == 2 else length
    content = reader.rest()
    if compression:
        content = inflate(content, packed_length)
    if compression == 2:
        content = unpack_uuids(content, length)
    if len(content) != length:
        raise FormatError("malformed: a batch's content has another length than it says")
    reader, operations, last = Reader(content), [], []
    for _ in range(count):
        place, size = reader.varint(0, len(last)), reader.varint()
        if place == 0:
            operation = Operation(reader.take(size))
            last.append(operation)
        else:
            before = last[place - 1]
            flags, step, counter = reader.byte(0, 1), reader.varint(), reader.varint(0, 0xFFFF)
            stamp = ((before.time >> 16) + step) << 16 | counter
            if stamp >= 1 << 63:
                raise FormatError("malformed: an operation's time is not below 2^63")
            tail = reader.take(size)
            operation = Operation.make(flags, before.author, before.sequence + 1, stamp, tail)
            last[place - 1] = operation
        operations.append(operation)
    if not reader.is_at_end():
        raise FormatError("malformed: something follows a batch's last operation")
    return operations


def inflate(data, length):
    stream = zlib.decompressobj()
    try:
        content = stream.decompress(data, length + 1)
    except zlib.error as error:
        raise FormatError(f"malformed: a batch can't be expanded: {error}") from None
    if not stream.eof or stream.unused_data or len(content) != length:
        raise FormatError("malformed: a batch doesn't expand to the length that it says")
    return content


def unpack_uuids(data, length):
    reader = Reader(data)
    places = [reader.varint() for _ in range(reader.varint(0, len(data) // 17))]
    plain = length - 36 * len(places)
    if plain < 0:
        raise FormatError("malformed: more UUIDs than the content has room for")
    text, ids, out = Reader(reader.take(plain)), Reader(reader.rest()), bytearray()
    for place in places:
        out += text.take(place >> 1)
        name = str(uuid.UUID(bytes=ids.take(16)))
        out += (name.upper() if place & 1 else name).encode()
    if not ids.is_at_end():
        raise FormatError("malformed: something follows a batch's last UUID")
    return bytes(out + text.rest())


# MARK: - Row changes

DELETE, INSERT, UPDATE, END = range(4)


def encode_row(table, kind, generation, key, values):
    """A block with one row. It names the columns that are written; others keep what they have."""
    names = [name for name in table.columns if name in values]
    out = string(table.name) + b"\0" + varint(len(table.key))
    out += b"".join(string(name) for name in table.key) + varint(len(names))
    out += b"".join(string(name) + b"\0" for name in names)
    out += varint(generation << 2 | kind) + key
    if kind == UPDATE:
        out += ((1 << len(names)) - 1).to_bytes((len(names) + 7) // 8, "little")
    return out + b"".join(values[name] for name in names) + b"\x03"


def decode_rows(table, body):
    """The changes to this table. Other tables, and columns that it lacks, are read and left out."""
    reader, changes = Reader(body), []
    while not reader.is_at_end():
        name, deletes = reader.string(), reader.byte(0, 1, 2)
        key = [reader.string() for _ in range(reader.varint(1, 64))]
        columns = [(reader.string(), reader.byte()) for _ in range(reader.varint(0, 2000))]
        is_ours = name.lower() == table.name.lower()
        names = table.own_names(deletes, key, columns) if is_ours else [None] * len(columns)
        while (head := reader.varint()) != END:
            kind, generation = head & 3, head >> 2
            if kind == END or not 0 < generation < 1 << 31 or generation % 2 != (kind != DELETE):
                raise FormatError(f"malformed: a change of kind {kind} in generation {generation}")
            key_bytes = b"".join(encode_key(decode_key(reader, len(key))))
            mask = (1 << len(columns)) - 1 if kind == INSERT else 0
            if kind == UPDATE:
                mask = int.from_bytes(reader.take((len(columns) + 7) // 8), "little")
                if mask >> len(columns):
                    raise FormatError("malformed: a mask has bits beyond the columns")
            values = {}
            for n, own_name in enumerate(names):
                if mask >> n & 1:
                    start = reader.place
                    value = decode_value(reader)
                    if own_name and isinstance(value, int) and not -(1 << 63) <= value < 1 << 63:
                        raise FormatError("malformed: an integer over 64 bits that is no counter's")
                    if own_name:
                        values[own_name] = reader.data[start : reader.place]
            if kind == DELETE and deletes == 1:
                for _ in range(reader.varint(0, 10_000)):
                    reader.take(16), reader.varint(1, (1 << 40) - 1)
            if is_ours:
                changes.append((kind, generation, key_bytes, values))
    return changes
